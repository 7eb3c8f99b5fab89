"""Which files are read, and which samples are held against the target."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


def sample_evenly(items: Sequence[Item], count: int, seed: int) -> list[Item]:
    """Pick ``count`` items in their order, one at random from each of ``count`` equal stretches.

    Every part of a dataset is represented, whichever seed is used: a capture that went wrong half-way shows.
    """
    if len(items) <= count:
        return list(items)
    chance = random.Random(seed)  # noqa: S311 - a choice of files, no secret
    edges = [len(items) * index // count for index in range(count + 1)]
    return [items[chance.randrange(low, high)] for low, high in pairwise(edges)]


def pick_probes(lengths: Sequence[int], count: int, seed: int, enough: int) -> list[int]:
    """Pick the indices of ``count`` samples to hold against the target, preferring long ones.

    Samples of at least ``enough`` tokens are drawn from at random; if they are too few, the longest of the
    others follow, and more of them than ``count`` where these are so short that no median could be taken: until
    twice ``enough`` tokens are reached, sinks included. Empty samples are never picked.
    """
    long = [index for index, length in enumerate(lengths) if length >= enough]
    if len(long) >= count:
        return sorted(random.Random(seed).sample(long, count))  # noqa: S311 - a choice of samples, no secret
    others = sorted((index for index, length in enumerate(lengths) if 0 < length < enough), key=lambda i: -lengths[i])
    picked = long + others[: count - len(long)]
    tokens = sum(lengths[index] for index in picked)
    for index in others[count - len(long) :]:
        if tokens >= 2 * enough:
            break
        picked.append(index)
        tokens += lengths[index]
    return sorted(picked)
