"""A sound export of a drafter of the embedded target, and what the clauses say of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import Export
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture
def export(contract: Contract, tmp_path: Path) -> Export:
    """A sound export in SpecForge's form, which SGLang and vLLM read; ``export.contract`` is what it conforms to."""
    return prepare_export(contract, tmp_path / "drafter", "specforge")[1]


@pytest.fixture(scope="session")
def read() -> Callable[..., CheckpointEvidence]:
    def gather(contract: Contract, path: Path, *, target: bool = True, scan: str = "sample") -> CheckpointEvidence:
        options = Options(target=str(embedded_target()) if target else None, scan=scan)
        evidence = gather_evidence(contract, Subject("checkpoint", str(path), "drafter"), options)
        assert isinstance(evidence, CheckpointEvidence)
        return evidence

    return gather


@pytest.fixture
def judge() -> Callable[..., dict[str, list[Finding]]]:
    """Give the findings on evidence, by the clause's name."""

    def judge_all(contract: Contract, evidence: CheckpointEvidence) -> dict[str, list[Finding]]:
        clauses = clauses_of("checkpoint")
        return {clause.id.partition(".")[2]: judge_clause(clause, contract, evidence) for clause in clauses}

    return judge_all
