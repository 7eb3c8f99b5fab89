"""The sequences that the embedded target's recording holds: text of its language, and noise over its vocabulary."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eagle3_contracts.contract import Contract
from eagle3_contracts.recording.language import STOP, VOCABULARY, Language
from eagle3_contracts.subjects import SubjectError

GIVEN = "sequences.json"
"""The file with the sequences of a contract of the user's own."""

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


def given_sequences(folder: Path, contract: Contract) -> tuple[Sequence, ...]:
    """Read the sequences to record: a JSON list of lists of token ids, of text in the target's own tokenizer.

    States are stored in bfloat16 if the target is bfloat16, else in float32. Raises ``SubjectError`` for anything else,
    and for ids outside the vocabulary.
    """
    path, size = folder / GIVEN, contract.target.vocab_size
    remedy = f"write a list of lists of token ids in 0..{size - 1}, of 64 tokens at least in all"
    try:
        listed: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SubjectError(str(path), f"cannot be read: {error.strerror}", remedy=remedy) from None
    except (ValueError, RecursionError) as error:
        raise SubjectError(str(path), f"is no JSON: {error}", remedy=remedy) from None
    if not isinstance(listed, list) or not listed or not all(_is_text(item, size) for item in listed):
        raise SubjectError(str(path), "is no list of lists of token ids of this target", remedy=remedy)
    dtype: Literal["float32", "bfloat16"] = "bfloat16" if contract.target.dtype == "bfloat16" else "float32"
    return tuple(Sequence(tuple(item), "text", dtype) for item in listed)


def _is_text(item: Any, size: int) -> bool:
    return isinstance(item, list) and bool(item) and all(type(token) is int and 0 <= token < size for token in item)


def dataset_samples() -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Draw the samples of the recorded datasets, token ids and loss mask; always the same ones.

    The mask leaves out the first sentence, as a prompt, and trains on the rest.
    """
    language, draw = Language(LANGUAGE_SEED), random.Random(_DATASET_SEED)  # noqa: S311 (a language, no secret)
    drawn = [tuple(language.sequence(length, draw)[0]) for length in _DATASET_LENGTHS]
    return tuple((ids, tuple(int(at > ids.index(STOP)) for at in range(len(ids)))) for ids in drawn)
