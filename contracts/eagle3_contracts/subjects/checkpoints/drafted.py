"""Drafting on the recorded sequences, and comparing with what was recorded there.

A contract with a recording (``golden/NAME/VERSION``) has one drafter whose drafted tokens are kept; a checkpoint of
that contract is held against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eagle3_contracts.evidence import DraftedComparison, Problem
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens import DRAFTS, golden_root, open_golden

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract


def has_recording(contract: Contract) -> bool:
    """Tell whether drafted tokens are recorded for this version of a contract."""
    return (golden_root() / contract.name / contract.version / DRAFTS).is_file()


def compare_drafts(contract: Contract, weights: Mapping[str, Tensor]) -> DraftedComparison | Problem:
    """Draft with given tensors on every recorded sequence; a problem if the recording cannot be used."""
    from eagle3_contracts.accuracy import compare_with_recorded, passage_from_states
    from eagle3_contracts.drafter import ReferenceDrafter

    try:
        golden = open_golden(contract.name, contract.version)
    except SubjectError as error:
        return Problem("drafted", error.reason, error.remedy)
    drafted = [number for number in range(len(golden)) if len(golden.manifest["sequences"][number]["token_ids"]) > 1]
    passages = [passage_from_states(contract, golden.states(number)) for number in drafted]
    found = compare_with_recorded(
        ReferenceDrafter(contract, weights), passages, [golden.drafts(number) for number in drafted]
    )
    return DraftedComparison(
        positions=found.rows * len(found.drafted),
        agreement=sum(found.drafted) / len(found.drafted),
        steps=found.drafted,
        source=f"golden/{contract.name}/{contract.version}",
        logprob_distance=max(found.logprob_max),
    )
