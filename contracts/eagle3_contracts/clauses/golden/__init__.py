"""The ``golden.*`` clauses on ``GoldenEvidence``: a recording that is whole, up to date, and what its models give."""

from eagle3_contracts.clauses.golden.drafts import check_drafter, check_drafts
from eagle3_contracts.clauses.golden.files import check_integrity, check_readable
from eagle3_contracts.clauses.golden.logits import check_logits
from eagle3_contracts.clauses.golden.origin import check_contract, check_versions
from eagle3_contracts.clauses.golden.sequences import check_dtype, check_finite, check_sequences, check_shapes
from eagle3_contracts.clauses.golden.states import check_states

__all__ = [
    "check_contract",
    "check_drafter",
    "check_drafts",
    "check_dtype",
    "check_finite",
    "check_integrity",
    "check_logits",
    "check_readable",
    "check_sequences",
    "check_shapes",
    "check_states",
    "check_versions",
]
