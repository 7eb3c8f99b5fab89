"""What keeps a drafter from predicting anything, and samples from saying anything: found before any search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.samples import DraftSample
from eagle3_contracts.drafter import INTEGER_TENSORS

if TYPE_CHECKING:
    from torch import Tensor


def find_broken_tensor(contract: Contract, weights: Mapping[str, Tensor]) -> str:
    """Say which tensor makes every prediction meaningless under any wiring, or nothing.

    Those are values that are no numbers, and a d2t of which most entries lead, as offsets and as ids, outside the
    target's vocabulary or to a token that another entry leads to.
    """
    for name, tensor in weights.items():
        if name not in INTEGER_TENSORS and not bool(tensor.isfinite().all()):
            strange = int((~tensor.isfinite()).sum())
            return f"{name} holds {strange:,} of {tensor.numel():,} values as NaN or infinite: checkpoint.finite"
    if contract.drafter.d2t == "none" or "d2t" not in weights:
        return ""
    d2t, size = weights["d2t"].cpu().numpy().astype(np.int64), contract.target.vocab_size
    readings = (d2t, d2t + np.arange(len(d2t)))
    good = max(len(np.unique(ids[(ids >= 0) & (ids < size)])) for ids in readings)
    if 2 * good >= len(d2t):
        return ""
    return (
        f"d2t leads to {good:,} tokens of the target, read either way, and has {len(d2t):,} entries: checkpoint.d2t-ids"
    )


def find_finite(samples: Sequence[DraftSample]) -> list[DraftSample]:
    """Give the samples whose planes are numbers throughout."""
    return [sample for sample in samples if all(bool(np.isfinite(plane).all()) for plane in sample.planes.values())]
