"""A case: what a clause must say of one contract and one piece of evidence."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CaptureEvidence, CheckpointEvidence, DatasetEvidence, LoaderEvidence
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from support.judging.documents import toy_contract
from support.judging.evidence import sound_capture, sound_dataset


@dataclass(frozen=True, slots=True)
class Case:
    """``expected``: level and verdict of each finding, in order: ``must failed``, ``should failed``."""

    clause: str
    name: str
    expected: tuple[str, ...]
    evidence: CaptureEvidence | CheckpointEvidence | DatasetEvidence | LoaderEvidence | ServerEvidence
    contract: Contract

    def judge(self) -> list[Finding]:
        """Judge the case as a run does: what a missing target means is decided before the check is called."""
        return judge_clause(clause(self.clause), self.contract, self.evidence)

    @property
    def title(self) -> str:
        """Name the case for a test: ``capture.boundary: off by one``."""
        return f"{self.clause}: {self.name}"


def capture_case(
    clause_id: str, name: str, expected: str, evidence: CaptureEvidence | None = None, contract: Contract | None = None
) -> Case:
    """Make a case of the capture stage; ``expected`` lists the findings, joined by ``, ``."""
    found = tuple(expected.split(", "))
    return Case(f"capture.{clause_id}", name, found, evidence or sound_capture(), contract or toy_contract())


def dataset_case(
    clause_id: str, name: str, expected: str, evidence: DatasetEvidence | None = None, contract: Contract | None = None
) -> Case:
    """Make a case of the dataset stage; ``expected`` lists the findings, joined by ``, ``."""
    found = tuple(expected.split(", "))
    return Case(f"dataset.{clause_id}", name, found, evidence or sound_dataset(), contract or toy_contract())
