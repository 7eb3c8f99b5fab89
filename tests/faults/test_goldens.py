"""A sound recording raises nothing, and one that is lost or lacks its target passes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import NAME, VERSION, golden_root
from eagle3_contracts.faults.injecting.goldens import Recording
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.subjects import Subject

Judge = Callable[..., list[Finding]]
TARGET_LOST = ("golden.states", "golden.logits")


def of(findings: Iterable[Finding], *verdicts: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict in verdicts}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


@pytest.mark.parametrize("target", [True, False], ids=["a target given", "its own target"])
def test_a_sound_recording_raises_nothing(
    target: bool,  # noqa: FBT001 (pytest passes it by name)
    contract: Contract,
    judge: Judge,
    tmp_path: Path,
) -> None:
    folder = Recording(contract, tmp_path / "recording").write()
    findings = judge(contract, Subject("golden", str(folder), "sound"), target=target)
    assert told(findings) == ""
    assert of(findings, Verdict.PASSED) == {clause.id for clause in clauses_of("golden")}


def test_a_recording_that_is_not_there_is_an_error_in_every_clause(
    contract: Contract, judge: Judge, tmp_path: Path
) -> None:
    findings = judge(contract, Subject("golden", str(tmp_path / "nothing"), "absent"))
    assert of(findings, *set(Verdict) - {Verdict.ERRORED}) == set()
    assert {item.clause for item in findings} == {clause.id for clause in clauses_of("golden")}
    assert all("record" in item.hint for item in findings)


def test_a_target_that_is_no_target_leaves_states_and_logits_unchecked(
    contract: Contract, judge: Judge, tmp_path: Path
) -> None:
    recording = Recording(contract, tmp_path / "recording")
    (recording.folder / "target" / "config.json").write_text("{", encoding="utf-8")
    recording.list_files()
    findings = judge(contract, Subject("golden", str(recording.write()), "lost"), target=False)
    assert of(findings, Verdict.FAILED) == set()
    assert of(findings, Verdict.ERRORED) == set(TARGET_LOST)


def test_a_recording_without_a_target_says_what_to_give(contract: Contract, judge: Judge, tmp_path: Path) -> None:
    recording = Recording(contract, tmp_path / "recording")
    shutil.rmtree(recording.folder / "target")
    recording.list_files()
    findings = judge(contract, Subject("golden", str(recording.write()), "bare"), target=False)
    skipped = [item for item in findings if item.clause in TARGET_LOST]
    assert {item.verdict for item in skipped} == {Verdict.SKIPPED}
    assert all("--contract-target" in item.hint for item in skipped)
    assert of(findings, Verdict.ERRORED) == {"golden.drafts"}


def test_nothing_is_written_to_the_recording(contract: Contract, judge: Judge) -> None:
    folder = golden_root() / NAME / VERSION
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    judge(contract, Subject("golden", str(folder), "own"))
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    assert before == after
