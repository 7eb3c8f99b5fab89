"""The ``dataset.*`` clauses on ``DatasetEvidence``: files, shapes, values, and what rests on parts of the target."""

from eagle3_contracts.clauses.dataset.declaration import check_declaration
from eagle3_contracts.clauses.dataset.embedding import check_embedding_repeats, check_embedding_rows
from eagle3_contracts.clauses.dataset.files import check_readable, check_safe, check_schema
from eagle3_contracts.clauses.dataset.identity import check_distinct, check_duplicates, check_identity
from eagle3_contracts.clauses.dataset.norm_vector import check_norm_vector
from eagle3_contracts.clauses.dataset.placement import (
    check_boundary,
    check_final_state,
    check_order,
    check_token_shift,
)
from eagle3_contracts.clauses.dataset.shapes import (
    check_dtype,
    check_mask_length,
    check_plane_count,
    check_rows,
    check_scales,
    check_width,
)
from eagle3_contracts.clauses.dataset.values import (
    check_finite,
    check_mask_values,
    check_norm_range,
    check_token_ids,
    check_zero_rows,
)

__all__ = [
    "check_boundary",
    "check_declaration",
    "check_distinct",
    "check_dtype",
    "check_duplicates",
    "check_embedding_repeats",
    "check_embedding_rows",
    "check_final_state",
    "check_finite",
    "check_identity",
    "check_mask_length",
    "check_mask_values",
    "check_norm_range",
    "check_norm_vector",
    "check_order",
    "check_plane_count",
    "check_readable",
    "check_rows",
    "check_safe",
    "check_scales",
    "check_schema",
    "check_token_ids",
    "check_token_shift",
    "check_width",
    "check_zero_rows",
]
