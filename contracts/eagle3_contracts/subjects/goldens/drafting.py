"""Running the recorded drafter again on the recorded states, and comparing what it drafts with what was recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DraftedComparison, GoldenEvidence, Problem, RecordedSequence, ReferenceStates
from eagle3_contracts.evidence.drafts import RecordedDrafts
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens.kept import spread_logits
from eagle3_contracts.subjects.goldens.tensors import Tensors, read_drafts, read_floats, read_logits

if TYPE_CHECKING:
    import numpy.typing as npt

    from eagle3_contracts.drafter import ReferenceDrafter

_MEND = "mend what golden.drafter names first, or record again: eagle3-contracts record NAME"


def draft_again(
    evidence: GoldenEvidence,
    contract: Contract,
    folder: Path,
    target: Path | None,
    chosen: Sequence[RecordedSequence],
    states: Tensors,
    drafts: Tensors,
) -> GoldenEvidence:
    """Draft on the recorded states of the chosen sequences and compare; why that is not possible is a problem."""
    drafter = _open_drafter(contract, folder, target)
    if isinstance(drafter, Problem):
        return dataclasses.replace(evidence, problems=(*evidence.problems, drafter))
    ids = drafter.target_ids().numpy()
    recorded = {item.number: read_drafts(drafts, item.number) for item in chosen}
    strange = {
        number: f"sequence {number}: draft ids outside 0..{len(ids) - 1}"
        for number, kept in recorded.items()
        if kept.top_ids.min() < -1 or kept.top_ids.max() >= len(ids)
    }
    evidence = dataclasses.replace(evidence, undrafted={**evidence.undrafted, **strange})
    sound = [item for item in chosen if item.number not in strange]
    if not sound:
        return evidence
    read = [_read_states(contract, item, states) for item in sound]
    found = _compare(drafter, contract, read, [recorded[item.number] for item in sound], evidence.subject)
    if isinstance(found, Problem):
        return dataclasses.replace(evidence, problems=(*evidence.problems, found))
    unfounded = sum(_count_unfounded(recorded[item.number], ids) for item in sound)
    return dataclasses.replace(evidence, drafted=found, unfounded=unfounded)


def _compare(
    drafter: ReferenceDrafter,
    contract: Contract,
    states: Sequence[ReferenceStates],
    recorded: Sequence[RecordedDrafts],
    source: str,
) -> DraftedComparison | Problem:
    from eagle3_contracts.accuracy import compare_with_recorded, passage_from_states

    passages = [passage_from_states(contract, item) for item in states]
    try:
        with np.errstate(invalid="ignore"):
            found = compare_with_recorded(drafter, passages, recorded)
    except (IndexError, ValueError, RuntimeError) as error:  # d2t that leads outside the embedding
        return Problem("drafted", f"the recorded drafter cannot be run: {error}", _MEND)
    return DraftedComparison(
        positions=found.rows * len(found.drafted),
        agreement=sum(found.drafted) / len(found.drafted),
        steps=found.drafted,
        source=source,
        logprob_distance=float(np.nan_to_num(max(found.logprob_max), nan=np.inf)),
    )


def _open_drafter(contract: Contract, folder: Path, target: Path | None) -> ReferenceDrafter | Problem:
    try:
        import torch  # noqa: F401
    except ImportError:
        told = "running the drafter needs torch, which is not installed"
        return Problem("drafted", told, "pip install 'eagle3-contracts[torch]'")
    from eagle3_contracts.drafter import ReferenceDrafter, WeightsError
    from eagle3_contracts.subjects.checkpoints.weights import read_drafter

    try:
        return ReferenceDrafter(contract, read_drafter(folder / "drafter", contract, target))
    except SubjectError as error:
        return Problem("drafted", f"the recorded drafter cannot be run: {error.reason}", error.remedy)
    except (WeightsError, ValueError, RuntimeError) as error:
        return Problem("drafted", f"the recorded drafter cannot be run: {error}", _MEND)


def _read_states(contract: Contract, item: RecordedSequence, states: Tensors) -> ReferenceStates:
    boundaries, final = (read_floats(states[f"{item.number}.{part}"]) for part in ("boundaries", "final"))
    logits = spread_logits(read_logits(states, item.number), contract.target.vocab_size)
    return ReferenceStates(np.asarray(item.token_ids, np.int64), boundaries, final, logits)


def _count_unfounded(kept: RecordedDrafts, ids: npt.NDArray[np.int64]) -> int:
    """Count rows whose first drafted token is not one of the largest recorded logits at the first step."""
    best = kept.top_logits[0] == kept.top_logits[0].max(axis=-1, keepdims=True)
    drafted = ids[kept.top_ids[0].astype(np.int64)] == kept.drafted[:, :1]
    read = kept.top_ids[0, :, 0] >= 0
    return int((~(best & drafted).any(axis=-1) & read).sum())
