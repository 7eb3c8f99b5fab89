"""The ``checkpoint.*`` clauses on ``CheckpointEvidence``: files, tensors, vocabulary, and what each engine reads."""

from eagle3_contracts.clauses.checkpoint.declaration import check_declaration
from eagle3_contracts.clauses.checkpoint.embedding import check_embedding, check_tied_embeddings
from eagle3_contracts.clauses.checkpoint.engines import (
    check_bias_flags,
    check_engine_start,
    check_fc_applied,
    check_fc_width,
    check_layer_count,
    check_norm_flags,
    check_taps,
)
from eagle3_contracts.clauses.checkpoint.files import check_form, check_readable, check_safe
from eagle3_contracts.clauses.checkpoint.positions import check_positions, check_rope
from eagle3_contracts.clauses.checkpoint.tensors import (
    check_dtypes,
    check_engine_tensors,
    check_shapes,
    check_tensors_present,
    check_tensors_read,
)
from eagle3_contracts.clauses.checkpoint.values import (
    check_dead_tensors,
    check_drafted_tokens,
    check_finite,
    check_fresh_tensors,
)
from eagle3_contracts.clauses.checkpoint.vocabulary import (
    check_d2t_ids,
    check_d2t_reading,
    check_draft_vocabulary,
    check_special_tokens,
    check_t2d_agrees,
    check_vocabulary_size,
)

__all__ = [
    "check_bias_flags",
    "check_d2t_ids",
    "check_d2t_reading",
    "check_dead_tensors",
    "check_declaration",
    "check_draft_vocabulary",
    "check_drafted_tokens",
    "check_dtypes",
    "check_embedding",
    "check_engine_start",
    "check_engine_tensors",
    "check_fc_applied",
    "check_fc_width",
    "check_finite",
    "check_form",
    "check_fresh_tensors",
    "check_layer_count",
    "check_norm_flags",
    "check_positions",
    "check_readable",
    "check_rope",
    "check_safe",
    "check_shapes",
    "check_special_tokens",
    "check_t2d_agrees",
    "check_taps",
    "check_tensors_present",
    "check_tensors_read",
    "check_tied_embeddings",
    "check_vocabulary_size",
]
