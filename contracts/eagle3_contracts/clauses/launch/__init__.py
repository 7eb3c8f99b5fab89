"""The ``launch.*`` clauses on ``LaunchEvidence``: what the flags come to, in every version that is served."""

from eagle3_contracts.clauses.launch.command import check_engine, check_flags, check_readable
from eagle3_contracts.clauses.launch.drafting import check_algorithm, check_draft_path, check_draft_tokens
from eagle3_contracts.clauses.launch.limits import check_context
from eagle3_contracts.clauses.launch.precision import check_dtype, check_quantization
from eagle3_contracts.clauses.launch.states import check_hidden_states
from eagle3_contracts.clauses.launch.taps import check_taps

__all__ = [
    "check_algorithm",
    "check_context",
    "check_draft_path",
    "check_draft_tokens",
    "check_dtype",
    "check_engine",
    "check_flags",
    "check_hidden_states",
    "check_quantization",
    "check_readable",
    "check_taps",
]
