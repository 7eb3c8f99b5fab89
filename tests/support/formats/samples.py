"""Good samples to write: token ids, planes that look like hidden states, a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class GoodSample:
    """Token ids [T], planes [P, T, H] in disk order (the last state last), mask [T]."""

    token_ids: tuple[int, ...]
    planes: Array
    mask: tuple[int, ...]


def make_sample(
    seed: int,
    length: int = 24,
    *,
    planes: int = 4,
    hidden: int = 16,
    vocabulary: int = 12,
    embedding_plane: int | None = None,
) -> GoodSample:
    """Make a sample with repeated tokens; every row differs, except in an embedding plane, where the token decides.

    Norms grow from plane to plane; the mask is 0 for the first half and 1 for the rest.
    """
    chance = np.random.default_rng(seed)
    ids = chance.integers(0, vocabulary, length)
    states = chance.standard_normal((planes, length, hidden)).astype(np.float32)
    states *= np.arange(1, planes + 1, dtype=np.float32)[:, None, None] * 3
    if embedding_plane is not None:
        table = np.random.default_rng(99).standard_normal((vocabulary, hidden)).astype(np.float32)
        states[embedding_plane] = table[ids]
    mask = tuple(int(index >= length // 2) for index in range(length))
    return GoodSample(tuple(int(token) for token in ids), states, mask)


def make_samples(count: int, **options: int | None) -> list[GoodSample]:
    """Make samples of different lengths."""
    return [make_sample(index, 20 + 5 * index, **options) for index in range(count)]  # type: ignore[arg-type]


def select(samples: Sequence[GoodSample], planes: Sequence[int]) -> list[GoodSample]:
    """Give the samples with some of their planes, in another order if so named."""
    return [GoodSample(item.token_ids, item.planes[list(planes)], item.mask) for item in samples]
