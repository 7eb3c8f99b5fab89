"""The norm state of a final state, told by the final norm's weight: rms(row / weight) is 1 after the norm only."""

from __future__ import annotations

import math
from typing import Literal

from eagle3_contracts.clauses.bounds import NORMED, NOT_NORMED


def read_norm_state(rms: float) -> Literal["pre_norm", "post_norm"] | None:
    """Give the norm state that a median of rms(row / weight) shows, or None if it shows neither clearly."""
    if NORMED[0] <= rms <= NORMED[1]:
        return "post_norm"
    if math.isfinite(rms) and not NOT_NORMED[0] <= rms <= NOT_NORMED[1]:
        return "pre_norm"
    return None
