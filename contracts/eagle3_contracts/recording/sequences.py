"""The sequences that the embedded target's recording holds: text of its language, and noise over its vocabulary."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.recording.language import STOP, VOCABULARY, Language

LANGUAGE_SEED = 1
_RECORDED_SEED, _DATASET_SEED = 101, 202
_RECORDED: tuple[tuple[int, Literal["text", "noise"], Literal["float32", "bfloat16"]], ...] = (
    (72, "text", "bfloat16"),
    (64, "text", "bfloat16"),
    (33, "noise", "bfloat16"),
    (28, "text", "bfloat16"),
    (24, "text", "float32"),
    (16, "text", "bfloat16"),
    (9, "text", "bfloat16"),
    (1, "text", "float32"),
)
_DATASET_LENGTHS = (64, 56, 52, 48)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Token ids whose states are recorded in ``dtype``. ``noise`` is drawn evenly from the whole vocabulary."""

    token_ids: tuple[int, ...]
    kind: Literal["text", "noise"]
    dtype: Literal["float32", "bfloat16"]


def recorded_sequences() -> tuple[Sequence, ...]:
    """Draw the recorded sequences; always the same ones."""
    language, draw = Language(LANGUAGE_SEED), random.Random(_RECORDED_SEED)  # noqa: S311 (a language, no secret)
    return tuple(
        Sequence(
            tuple(language.sequence(length, draw)[0] if kind == "text" else draw.choices(range(VOCABULARY), k=length)),
            kind,
            dtype,
        )
        for length, kind, dtype in _RECORDED
    )


def dataset_samples() -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Draw the samples of the recorded datasets, token ids and loss mask; always the same ones.

    The mask leaves out the first sentence, as a prompt, and trains on the rest.
    """
    language, draw = Language(LANGUAGE_SEED), random.Random(_DATASET_SEED)  # noqa: S311 (a language, no secret)
    drawn = [tuple(language.sequence(length, draw)[0]) for length in _DATASET_LENGTHS]
    return tuple((ids, tuple(int(at > ids.index(STOP)) for at in range(len(ids)))) for ids in drawn)
