"""The embedded default, sound, to put faults into; and what its clauses say of a subject."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject

Judge = Callable[..., list[Finding]]


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture
def judge() -> Judge:
    """Give every finding on a subject; ``target=False`` holds it against no target."""

    def run(contract: Contract, subject: Subject, *, target: bool = True) -> list[Finding]:
        options = Options(target=str(embedded_target()) if target else None)
        evidence = gather_evidence(contract, subject, options)
        clauses = clauses_of(subject.stage)
        return [finding for clause in clauses for finding in judge_clause(clause, contract, evidence)]

    return run


@pytest.fixture
def judge_capture(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Give every finding on a capture function."""

    def run(contract: Contract, capture: Any, *, target: bool = True) -> list[Finding]:
        module = ModuleType("capture_under_test")
        module.capture = capture  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return judge(contract, Subject("capture", "capture_under_test:capture", "faulty"), target=target)

    return run


@pytest.fixture
def judge_dataset(judge: Judge) -> Judge:
    """Give every finding on a folder."""

    def run(contract: Contract, folder: Path, *, target: bool = True) -> list[Finding]:
        return judge(contract, Subject("dataset", str(folder), "faulty"), target=target)

    return run


@pytest.fixture
def judge_checkpoint(judge: Judge) -> Judge:
    """Give every finding on an exported drafter."""

    def run(contract: Contract, folder: Path, *, target: bool = True) -> list[Finding]:
        return judge(contract, Subject("checkpoint", str(folder), "faulty"), target=target)

    return run
