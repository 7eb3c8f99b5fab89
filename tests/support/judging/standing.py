"""What every stage's cases are held to: a finding is of its clause and subject, and its message stands alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from eagle3_contracts.findings import Finding, Verdict
from support.snapshots import tell_findings


class Judged(Protocol):
    """A case of one clause, by the clause's id, that can be judged."""

    @property
    def clause(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def expected(self) -> Sequence[str]: ...
    def judge(self) -> list[Finding]: ...


def assert_stands_alone(item: Finding, clause: str, subject: str) -> None:
    """Assert that a finding names its clause and subject, says what was seen and expected, and is JSON."""
    assert (item.clause, item.subject) == (clause, subject), item
    assert item.observed, item
    assert item.expected, item
    assert isinstance(item.hint, str), item
    assert json.loads(json.dumps(item.as_dict(), allow_nan=False)), item
    if item.verdict is Verdict.FAILED:
        assert item.hint, f"a failure names its likely cause and what mends it: {item}"
        assert item.bound is not None, item


def tell_cases(cases: Sequence[Judged], clause: str) -> str:
    """Tell what a clause says of each of its cases, as its snapshot keeps it."""
    return "\n".join(f"== {case.name} ==\n{tell_findings(case.judge())}\n" for case in cases if case.clause == clause)


def verdicts_of(cases: Sequence[Judged], clause: str) -> set[str]:
    """Name the verdicts that a clause's cases expect."""
    return {item.split()[1] for case in cases if case.clause == clause for item in case.expected}
