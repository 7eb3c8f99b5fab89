"""The ``server.*`` clauses on ``ServerEvidence``: what a live server says of itself, and what it answers."""

from eagle3_contracts.clauses.server.acceptance import check_accepted_tokens
from eagle3_contracts.clauses.server.counters import check_counters
from eagle3_contracts.clauses.server.drafting import check_context, check_draft_tokens
from eagle3_contracts.clauses.server.identity import check_algorithm, check_drafter, check_target
from eagle3_contracts.clauses.server.likelihoods import check_logprobs
from eagle3_contracts.clauses.server.placement import check_boundary, check_final_state, check_order, check_token_shift
from eagle3_contracts.clauses.server.precision import check_dtype, check_quantization
from eagle3_contracts.clauses.server.reachability import check_reachable
from eagle3_contracts.clauses.server.requests import check_own_request
from eagle3_contracts.clauses.server.reruns import check_batch, check_repeats
from eagle3_contracts.clauses.server.shape import check_acceptance_shape
from eagle3_contracts.clauses.server.states import (
    check_finite,
    check_hidden_states,
    check_rows,
    check_width,
    check_zero_rows,
)
from eagle3_contracts.clauses.server.text import check_greedy_text

__all__ = [
    "check_acceptance_shape",
    "check_accepted_tokens",
    "check_algorithm",
    "check_batch",
    "check_boundary",
    "check_context",
    "check_counters",
    "check_draft_tokens",
    "check_drafter",
    "check_dtype",
    "check_final_state",
    "check_finite",
    "check_greedy_text",
    "check_hidden_states",
    "check_logprobs",
    "check_order",
    "check_own_request",
    "check_quantization",
    "check_reachable",
    "check_repeats",
    "check_rows",
    "check_target",
    "check_token_shift",
    "check_width",
    "check_zero_rows",
]
