"""What a drafter drafts on recorded samples, kept beside them: the sharpest thing to hold another drafter against.

A drafter's accuracy moves by a few points when planes are off by one; the share of drafted tokens that are the recorded
ones falls from above .99 (bfloat16 weights) below .9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.accuracy.passages import Passage
from eagle3_contracts.accuracy.simulation import draft_chains
from eagle3_contracts.evidence.drafts import RecordedDrafts

if TYPE_CHECKING:
    from eagle3_contracts.drafter import ReferenceDrafter

LOGITS_KEPT = 8


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a drafter compares with what was recorded.

    ``drafted``: share of equal tokens at each step of the chains, ``rows`` of them. ``logprob_max``: the largest
    difference of log-probability on the recorded top tokens, by step.
    """

    drafted: tuple[float, ...]
    logprob_max: tuple[float, ...]
    rows: int


def make_drafts(drafter: ReferenceDrafter, passage: Passage, steps: int) -> RecordedDrafts:
    """Compute what is recorded of one passage."""
    import torch

    kept = min(LOGITS_KEPT, drafter.drafter.draft_vocab_size)
    with torch.inference_mode():
        done = drafter.forward(passage.fc_input[:-1], passage.tokens[1:], steps=steps)
        logits = torch.stack([step.logits.float() for step in done])
        valid = torch.stack([step.valid for step in done])
        values, ids = logits.topk(kept, dim=-1)
        total = logits.logsumexp(-1)
    return RecordedDrafts(
        draft_chains(drafter, passage, steps).numpy().astype(_id_dtype(drafter.contract.target.vocab_size)),
        ids.masked_fill(~valid[..., None], -1).numpy().astype(_id_dtype(drafter.drafter.draft_vocab_size)),
        values.masked_fill(~valid[..., None], 0).numpy(),
        total.masked_fill(~valid, 0).numpy(),
    )


def _id_dtype(size: int) -> type[np.int16 | np.int32]:
    """Give the smallest type that holds the ids of a vocabulary."""
    return np.int16 if size <= np.iinfo(np.int16).max else np.int32


def compare_with_recorded(
    drafter: ReferenceDrafter, passages: Iterable[Passage], recorded: Sequence[RecordedDrafts]
) -> Agreement:
    """Compare a drafter with a recording, passage by passage; ``ValueError`` if there is nothing to compare."""
    equal, rows, worst = None, 0, None
    for passage, kept in zip(passages, recorded, strict=True):
        if not kept.drafted.size:
            continue
        steps = kept.drafted.shape[1]
        same = (draft_chains(drafter, passage, steps).numpy() == kept.drafted).sum(axis=0)
        differences = _logprob_differences(drafter, passage, kept)
        equal = same if equal is None else equal + same
        worst = differences if worst is None else np.maximum(worst, differences)
        rows += len(kept.drafted)
    if equal is None or worst is None:
        raise ValueError("nothing was recorded to compare with")
    return Agreement(tuple((equal / rows).tolist()), tuple(worst.tolist()), rows)


def _logprob_differences(drafter: ReferenceDrafter, passage: Passage, kept: RecordedDrafts) -> npt.NDArray[np.float64]:
    import torch

    with torch.inference_mode():
        done = drafter.forward(passage.fc_input[:-1], passage.tokens[1:], steps=len(kept.top_ids))
    worst = []
    for step, ids, values, total in zip(done, kept.top_ids, kept.top_logits, kept.log_sum_exp, strict=True):
        rows = np.flatnonzero(ids[:, 0] >= 0)
        own = step.logits.float().log_softmax(-1).numpy()[rows[:, None], ids[rows].astype(np.int64)]
        worst.append(float(np.abs(own - (values - total[:, None])[rows]).max()) if len(rows) else 0.0)
    return np.asarray(worst)
