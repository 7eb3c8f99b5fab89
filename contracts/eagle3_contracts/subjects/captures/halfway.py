"""Planes that a later layer overwrote halfway: the stream after a layer's attention, before its last sublayer.

A tap that keeps a reference shows that state when the next layer adds its attention to the same tensor (sglang PR
#39286, Gemma 4). It lies between two boundaries, 0.12 to 0.75 from the nearest in SmolLM2, and no ids give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.evidence import Array, Table
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets.distances import find_sinks

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target, TokenIds


def measure_halfway(target: Target, samples: Sequence[tuple[TokenIds, Array]]) -> tuple[tuple[int, float], ...]:
    """Give for each plane the layer whose halfway state is nearest, and the median relative L2 from it, sinks left out.

    Empty if the target has no layers, or does not give what their last sublayers add.
    """
    if "layers" not in target.holds:
        return ()
    pooled: list[Table] = []
    for token_ids, planes in samples:
        states = target.reference(token_ids)
        if states.branches is None:
            return ()
        kept = ~find_sinks(states)
        halfway = states.boundaries[1:] - states.branches
        with np.errstate(over="ignore", invalid="ignore"):
            pooled.append(np.stack([[relative_l2(plane[kept], state[kept]) for state in halfway] for plane in planes]))
    median = np.median(np.nan_to_num(np.concatenate(pooled, axis=-1), nan=np.inf), axis=-1)
    return tuple((int(np.argmin(row)), float(row.min())) for row in median)
