"""The ``capture.*`` clauses on ``CaptureEvidence``: shape and content of answers, their place in the target, memory."""

from eagle3_contracts.clauses.capture.answers import (
    check_dtype,
    check_plane_count,
    check_rows,
    check_runs,
    check_token_ids,
    check_width,
)
from eagle3_contracts.clauses.capture.content import check_finite, check_norm_range, check_zero_rows
from eagle3_contracts.clauses.capture.memory import check_aliasing
from eagle3_contracts.clauses.capture.placement import (
    check_boundary,
    check_final_state,
    check_order,
    check_residual,
    check_token_shift,
)
from eagle3_contracts.clauses.capture.reruns import check_padded_batch, check_request_isolation

__all__ = [
    "check_aliasing",
    "check_boundary",
    "check_dtype",
    "check_final_state",
    "check_finite",
    "check_norm_range",
    "check_order",
    "check_padded_batch",
    "check_plane_count",
    "check_request_isolation",
    "check_residual",
    "check_rows",
    "check_runs",
    "check_token_ids",
    "check_token_shift",
    "check_width",
    "check_zero_rows",
]
