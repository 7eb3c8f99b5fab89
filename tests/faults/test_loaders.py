"""A sound training loader raises nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.loaders.protocol import Factory, Loader
from eagle3_contracts.subjects.loaders.reference import make_reference_loader

Judge = Callable[..., list[Finding]]


def judge_factory(judge: Judge, contract: Contract, factory: Factory) -> list[Finding]:
    return judge(contract, Subject("loader", "faulty:factory", "faulty", factory))


def of(findings: Iterable[Finding], verdict: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict is verdict}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


@pytest.mark.parametrize("dataset_format", ["speculators-v1", "speculators-arrow"])
def test_a_sound_loader_raises_nothing(dataset_format: str, contract: Contract, judge: Judge) -> None:
    def factory(asked: Contract) -> Loader:
        return make_reference_loader(asked, dataset_format).as_subject()

    findings = judge_factory(judge, contract, factory)
    assert told(findings) == ""
    passed = of(findings, Verdict.PASSED)
    assert ("loader.stored-tokens" in passed) == (dataset_format == "speculators-arrow")
    assert len(passed) >= 20
