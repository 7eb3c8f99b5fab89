"""What could not be read or run, and the array types that evidence is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from eagle3_contracts.findings import Where

Array = npt.NDArray[np.float32]
Table = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something could not be read or run: what kind of defect, the reason, the remedy, the place.

    ``kind``: unsafe (more than tensors in a pickle), truncated, corrupt, unknown-format, ambiguous,
    missing (a file, key or sample), empty, unsupported, crashed (the code under test raised), ragged (planes of
    one request that do not stack), target (the subject could not be held against the target), needs (an optional
    package is not installed).
    """

    kind: str
    reason: str
    remedy: str
    where: Where = field(default_factory=Where)
