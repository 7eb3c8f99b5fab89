"""Planes that a later layer overwrote halfway: the stream after a layer's attention, before its last sublayer.

A tap that keeps a reference shows that state when the next layer adds its attention to the same tensor (sglang PR
#39286, Gemma 4). It lies between two boundaries, 0.12 to 0.75 from the nearest in SmolLM2, and no ids give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.evidence import Array
from eagle3_contracts.subjects.targets.distances import find_sinks

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target, TokenIds


def measure_halfway(target: Target, samples: Sequence[tuple[TokenIds, Array]]) -> tuple[tuple[int, float], ...]:
    """Give for each plane the layer whose halfway state is nearest, and the median relative L2 from it, sinks left out.

    Empty if the target has no layers, or does not give what their last sublayers add.
    """
    if "layers" not in target.holds:
        return ()
    pooled: list[Array] = []
    for token_ids, planes in samples:
        states = target.reference(token_ids)
        if states.branches is None:
            return ()
        kept = ~find_sinks(states)
        chosen, halfway = planes[:, kept], (states.boundaries[1:] - states.branches)[:, kept]
        pooled.append(np.stack([_distances(chosen, state) for state in halfway]))
    median = np.median(np.concatenate(pooled, axis=-1), axis=-1)
    return tuple((int(np.argmin(row)), float(row.min())) for row in median.T)


def _distances(planes: Array, state: Array) -> Array:
    """Give |x - r| / |r| for [P, T, H] and [T, H] as [P, T], in float32; what is not finite is infinitely far."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        difference = planes - state
        ratio = np.sqrt(np.einsum("pth,pth->pt", difference, difference) / np.einsum("th,th->t", state, state))
    result: Array = np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)
    return result
