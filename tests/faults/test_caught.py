"""Every fault is caught by its clause, and by that and its named companions only; sound subjects raise nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import Fault, faults_of
from eagle3_contracts.faults.injecting.captures import inject_capture
from eagle3_contracts.faults.injecting.datasets import inject_dataset, prepare_dump
from eagle3_contracts.faults.injecting.documents import inject_document
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.run import DOCUMENT
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture

Judge = Callable[..., list[Finding]]
NAMED = {"ids": lambda fault: fault.id}


def failed(findings: Iterable[Finding]) -> set[str]:
    return {item.clause for item in findings if item.verdict is Verdict.FAILED}


def unchecked(findings: Iterable[Finding]) -> set[str]:
    return {item.clause for item in findings if item.verdict is Verdict.ERRORED}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


def assert_caught(fault: Fault, findings: list[Finding]) -> None:
    assert failed(findings) == {fault.clause, *fault.companions}, told(findings)
    assert unchecked(findings) - failed(findings) == set(fault.unchecked), told(findings)


@pytest.mark.parametrize("fault", faults_of("contract"), **NAMED)
def test_a_faulty_document_is_caught(fault: Fault, contract: Contract, judge: Judge) -> None:
    assert_caught(fault, judge(inject_document(fault.id, contract), DOCUMENT))


@pytest.mark.parametrize("fault", faults_of("capture"), **NAMED)
def test_a_faulty_capture_is_caught(fault: Fault, contract: Contract, judge_capture: Judge) -> None:
    assert_caught(fault, judge_capture(contract, inject_capture(fault.id, contract)))


@pytest.mark.parametrize("fault", faults_of("dataset"), **NAMED)
def test_a_faulty_dataset_is_caught(fault: Fault, contract: Contract, judge_dataset: Judge, tmp_path: Path) -> None:
    changed, folder = inject_dataset(fault.id, contract, tmp_path / "states")
    assert_caught(fault, judge_dataset(changed, folder))


def test_a_faulty_capture_can_be_named_like_any_other(contract: Contract, judge: Judge) -> None:
    named = "eagle3_contracts.faults.injecting.captures:capture-ids-one-late()"
    assert failed(judge(contract, Subject("capture", named, "named"))) == {"capture.boundary"}


def _weightless(stage: str) -> list[Fault]:
    return [fault for fault in faults_of(stage) if not clause(fault.clause).needs]


@pytest.mark.parametrize("fault", _weightless("dataset"), **NAMED)
def test_what_needs_no_target_is_caught_without_one(
    fault: Fault, contract: Contract, judge_dataset: Judge, tmp_path: Path
) -> None:
    changed, folder = inject_dataset(fault.id, contract, tmp_path / "states")
    assert fault.clause in failed(judge_dataset(changed, folder, target=False))


@pytest.mark.parametrize("fault", _weightless("capture"), **NAMED)
def test_what_needs_no_target_is_caught_in_a_capture_without_one(
    fault: Fault, contract: Contract, judge_capture: Judge
) -> None:
    assert fault.clause in failed(judge_capture(contract, inject_capture(fault.id, contract), target=False))


def test_a_sound_document_raises_nothing(contract: Contract, judge: Judge) -> None:
    found = judge(contract, DOCUMENT)
    assert told(found) == ""


def test_a_sound_capture_raises_nothing(contract: Contract, judge_capture: Judge) -> None:
    found = judge_capture(contract, open_embedded_capture(contract))
    assert told(found) == ""


@pytest.mark.parametrize(("suffix", "embedding"), [(".pt", False), (".ckpt", False), (".pt", True)])
def test_a_sound_dump_raises_nothing(
    suffix: str, embedding: Any, contract: Contract, judge_dataset: Judge, tmp_path: Path
) -> None:
    changed, dump = prepare_dump(contract, tmp_path / "states", suffix, embedding=embedding)
    found = judge_dataset(changed, dump.write())
    assert told(found) == ""
