"""The ``loader.*`` clauses on ``LoaderEvidence``: wiring, alignment, packs, numbers, and samples that are bad."""

from eagle3_contracts.clauses.loader.alignment import (
    check_mask_shift,
    check_position_shift,
    check_target_shift,
    check_token_shift,
)
from eagle3_contracts.clauses.loader.bad_samples import (
    check_neighbours,
    check_nonfinite,
    check_row_count,
    check_stored_tokens,
    check_unreadable,
)
from eagle3_contracts.clauses.loader.numbers import check_dtype, check_values
from eagle3_contracts.clauses.loader.packs import check_coverage, check_packing, check_padding, check_truncation
from eagle3_contracts.clauses.loader.runs import check_read_only, check_runs
from eagle3_contracts.clauses.loader.vocabulary import check_draft_vocabulary
from eagle3_contracts.clauses.loader.wiring import check_fc_input, check_last_hidden, check_row_identity

__all__ = [
    "check_coverage",
    "check_draft_vocabulary",
    "check_dtype",
    "check_fc_input",
    "check_last_hidden",
    "check_mask_shift",
    "check_neighbours",
    "check_nonfinite",
    "check_packing",
    "check_padding",
    "check_position_shift",
    "check_read_only",
    "check_row_count",
    "check_row_identity",
    "check_runs",
    "check_stored_tokens",
    "check_target_shift",
    "check_token_shift",
    "check_truncation",
    "check_unreadable",
    "check_values",
]
