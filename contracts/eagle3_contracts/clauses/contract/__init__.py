"""The ``contract.*`` clauses, on the document itself: planes, formats, engines, limits."""

from eagle3_contracts.clauses.contract.engines import check_engine_features, check_engine_ids
from eagle3_contracts.clauses.contract.limits import check_positions, check_tolerance
from eagle3_contracts.clauses.contract.planes import (
    check_final_state,
    check_format_planes,
    check_input_stored,
    check_planes_used,
)

__all__ = [
    "check_engine_features",
    "check_engine_ids",
    "check_final_state",
    "check_format_planes",
    "check_input_stored",
    "check_planes_used",
    "check_positions",
    "check_tolerance",
]
