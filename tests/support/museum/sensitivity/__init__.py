"""The smallest fault that each numeric clause catches, by stage; and the clauses of which there is none, with why."""

from __future__ import annotations

from support.museum.sensitivity.captures import CAPTURE_SIZES
from support.museum.sensitivity.checkpoints import CHECKPOINT_SIZES
from support.museum.sensitivity.datasets import DATASET_SIZES
from support.museum.sensitivity.goldens import GOLDEN_SIZES
from support.museum.sensitivity.loaders import LOADER_SIZES
from support.museum.sensitivity.server_answers import SERVER_ANSWER_SIZES
from support.museum.sensitivity.server_drafts import SERVER_DRAFT_SIZES
from support.museum.sensitivity.server_rows import SERVER_ROW_SIZES
from support.museum.sensitivity.size import Size

SIZES: tuple[Size, ...] = (
    *CAPTURE_SIZES,
    *DATASET_SIZES,
    *LOADER_SIZES,
    *CHECKPOINT_SIZES,
    *SERVER_ROW_SIZES,
    *SERVER_ANSWER_SIZES,
    *SERVER_DRAFT_SIZES,
    *GOLDEN_SIZES,
)

_ORDER = "no size of its own: planes are in order or not, once `{0}.boundary` has told which they are"

UNMEASURED: dict[str, str] = {
    **{f"{stage}.order": _ORDER.format(stage) for stage in ("capture", "dataset", "server")},
    "checkpoint.finite": "its bound is the largest number that float16 holds, and no tolerance",
    "golden.sequences": "counts tokens: 64 in all are enough, and fewer are not",
}
"""Numeric clauses without a figure, and why there is none."""
