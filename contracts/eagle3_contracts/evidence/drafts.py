"""What a drafter drafts on recorded samples: the type that goldens hold and that other drafters are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence.problem import Array


@dataclass(frozen=True, slots=True)
class RecordedDrafts:
    """What a drafter says of one sequence of T tokens, in S steps; R = T - 1 rows.

    ``drafted`` [R, S]: the chain after each row, token ids of the target. Logits are those of steps that are fed
    with the text: ``top_ids`` [S, R, K] draft ids of the largest, ``top_logits`` of the same shape, ``log_sum_exp``
    [S, R] over all. Rows that the text does not reach at a step hold zeros, and -1 for ids.
    """

    drafted: npt.NDArray[np.integer]
    top_ids: npt.NDArray[np.integer]
    top_logits: Array
    log_sum_exp: Array
