"""Distances of planes from every boundary of the target, token by token, pooled over samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, Candidate, ReferenceStates, StateComparison, Table
from eagle3_contracts.numerics import sink_rows

SHIFTS = (-2, -1, 0, 1, 2)
"""Row t of a plane is held against row t + s of the target, so that a shifted capture shows as such."""

_MOST_SINKS = 0.5


class StateDistances:
    """Per-token relative L2 of planes from every candidate at every shift; exact medians over all samples.

    One candidate is held against all planes at a time, so memory stays at a few times [P, T, H] however many
    layers there are.
    """

    def __init__(self) -> None:
        self._candidates: tuple[Candidate, ...] = ()
        self._kept: dict[int, list[Array]] = {shift: [] for shift in SHIFTS}
        self._sunk: list[Array] = []

    def add(self, reference: ReferenceStates, planes: Array, rows: npt.NDArray[np.int64]) -> None:
        """Compare these rows of the planes [P, T, H] of one sample with the target's states of its tokens."""
        named = list(candidates(reference))
        self._candidates = tuple(candidate for candidate, _ in named)
        sinks = find_sinks(reference)
        inside = {shift: rows[(rows + shift >= 0) & (rows + shift < planes.shape[1])] for shift in SHIFTS}
        for shift, own in inside.items():
            theirs = own + shift
            chosen = np.ascontiguousarray(planes[:, own])
            table = np.stack([_distances(chosen, states[theirs]) for _, states in named], axis=1)
            sunk = sinks[theirs]
            self._kept[shift].append(table[..., ~sunk])
            if shift == 0:
                self._sunk.append(table[..., sunk])

    def result(self) -> StateComparison:
        """Give medians and p99 over all tokens that are no sinks."""
        pooled = {shift: np.concatenate(tables, axis=-1) for shift, tables in self._kept.items()}
        sunk = np.concatenate(self._sunk, axis=-1)
        return StateComparison(
            candidates=self._candidates,
            shifts=SHIFTS,
            median=np.stack([_quantile(pooled[shift], 0.5) for shift in SHIFTS]),
            p99=np.stack([_quantile(pooled[shift], 0.99) for shift in SHIFTS]),
            tokens=pooled[0].shape[-1],
            sinks=sunk.shape[-1],
            sink_median=_quantile(sunk, 0.5) if sunk.shape[-1] else None,
        )


def candidates(reference: ReferenceStates) -> Iterator[tuple[Candidate, Array]]:
    """Give all that a plane might be: R[0..n-1], R[n] before and after the norm, and the branches."""
    last = len(reference.boundaries) - 1
    for boundary in range(last):
        yield Candidate(boundary), reference.boundaries[boundary]
    yield Candidate(last, "pre_norm"), reference.boundaries[last]
    yield Candidate(last, "post_norm"), reference.final
    if reference.branches is not None:
        for layer, branch in enumerate(reference.branches):
            yield Candidate(layer + 1, "branch"), branch


def find_sinks(reference: ReferenceStates) -> npt.NDArray[np.bool_]:
    """Mark the sink tokens [T]; if more than half would be, the definition does not hold and none is."""
    marked = sink_rows(reference.boundaries)
    return marked if marked.mean() <= _MOST_SINKS else np.zeros_like(marked)


def _distances(planes: Array, states: Array) -> Array:
    """Give |x - r| / |r| for [P, T, H] and [T, H] as [P, T]; a zero or overflowing row is infinitely far."""
    difference = planes - states
    square = np.einsum("pth,pth->pt", difference, difference)
    size = np.einsum("th,th->t", states, states)
    ratio = np.sqrt(square / size)
    ratio[square == 0] = 0.0
    ratio[np.isnan(ratio)] = np.inf
    return np.asarray(ratio, np.float32)


def _quantile(table: Array, share: float) -> Table:
    """Give the quantile over the last axis by nearest rank (the lower one), infinities included; NaN if it is empty."""
    count = table.shape[-1]
    if not count:
        return np.full(table.shape[:-1], np.nan)
    rank = int(share * (count - 1))
    return np.partition(table, rank, axis=-1)[..., rank].astype(np.float64)
