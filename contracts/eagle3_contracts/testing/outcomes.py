"""What the findings of one clause on one subject mean for the test that ran it.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from eagle3_contracts.findings import Finding, Level, Verdict, worst
from eagle3_contracts.reports.terminal import UNCHECKED, describe_finding
from eagle3_contracts.testing.expectations import Expectation


class Outcome(StrEnum):
    """How a test ends."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How a test ends, what it says, what it found, and the properties that its report carries."""

    outcome: Outcome
    message: str = ""
    findings: tuple[Finding, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


def conclude(findings: Sequence[Finding], expected: Expectation | None = None, *, strict: bool = False) -> Conclusion:
    """End a test: fail on a violation that binds, then on anything unchecked; skip only if every finding was skipped.

    A violated should passes (the summary tells of it) unless ``strict``. An expected failure that comes is
    reported as such; one that stays away fails, since the entry is out of date.
    """
    violations = [item for item in findings if item.verdict is Verdict.FAILED]
    unchecked = [item for item in findings if item.verdict is Verdict.ERRORED]
    binding = [item for item in violations if strict or item.level is Level.MUST]
    if expected and violations and not unchecked:
        return Conclusion(Outcome.EXPECTED, str(expected))
    if binding or unchecked:
        shown = [*binding, *unchecked]
        return Conclusion(Outcome.FAILED, "\n\n".join(describe_finding(item) for item in shown))
    if not findings:
        return Conclusion(Outcome.FAILED, f"{UNCHECKED}: the check gave no finding at all; please report this")
    verdict = worst(item.verdict for item in findings)
    if verdict is Verdict.SKIPPED:
        return Conclusion(Outcome.SKIPPED, "; ".join(dict.fromkeys(_explain_skip(item) for item in findings)))
    if expected and verdict is Verdict.PASSED:
        return Conclusion(
            Outcome.FAILED,
            f"UNEXPECTED PASS {expected.clause}: the project expects it to fail: {expected}\n"
            "  the clause holds now: remove its entry from [tool.eagle3-contracts.expected]",
        )
    return Conclusion(Outcome.PASSED)


def _explain_skip(finding: Finding) -> str:
    return f"{finding.observed}; {finding.hint}" if finding.hint else finding.observed
