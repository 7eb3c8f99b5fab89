"""A sound launch command raises nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.launches import Launch
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.subjects import Subject

Judge = Callable[..., list[Finding]]


def of(findings: Iterable[Finding], *verdicts: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict in verdicts}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


def test_a_sound_launch_raises_nothing(contract: Contract, judge: Judge, tmp_path: Path) -> None:
    launch = Launch(contract, tmp_path / "launch")
    findings = judge(launch.contract, Subject("launch", str(launch.script), "sound"), target=False)
    assert told(findings) == ""
    assert of(findings, Verdict.SKIPPED) == {"launch.hidden-states"}
