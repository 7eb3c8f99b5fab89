from __future__ import annotations

import pytest

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.testing.expectations import Expectation
from eagle3_contracts.testing.outcomes import Outcome, conclude

MUST, SHOULD = clause("dataset.rows"), clause("dataset.norm-range")
EXPECTED = Expectation("dataset.rows", "an old dump", "https://example.org/1")


def find(verdict: Verdict, level: Level = Level.MUST) -> Finding:
    item = MUST if level is Level.MUST else SHOULD
    return item.find(verdict, "run", observed=f"it {verdict}", hint="mend it")


PASSED, FAILED, ERRORED, SKIPPED = (find(verdict) for verdict in Verdict)
VIOLATED = find(Verdict.FAILED, Level.SHOULD)


@pytest.mark.parametrize(
    ("findings", "outcome", "first_line"),
    [
        ([PASSED], Outcome.PASSED, ""),
        ([PASSED, SKIPPED], Outcome.PASSED, ""),
        ([SKIPPED, SKIPPED], Outcome.SKIPPED, "it skipped; mend it"),
        ([PASSED, FAILED], Outcome.FAILED, "FAILED dataset.rows (must) on run"),
        ([ERRORED, FAILED], Outcome.FAILED, "FAILED dataset.rows (must) on run"),
        ([PASSED, ERRORED], Outcome.FAILED, "COULD NOT CHECK dataset.rows (must) on run"),
        ([VIOLATED], Outcome.PASSED, ""),
        ([VIOLATED, ERRORED], Outcome.FAILED, "COULD NOT CHECK dataset.rows (must) on run"),
        ([], Outcome.FAILED, "COULD NOT CHECK: the check gave no finding at all; please report this"),
    ],
)
def test_the_gravest_finding_decides(findings: list[Finding], outcome: Outcome, first_line: str) -> None:
    concluded = conclude(findings)
    assert concluded.outcome is outcome
    assert concluded.message.partition("\n")[0] == first_line


def test_strict_fails_a_violated_should() -> None:
    assert conclude([VIOLATED], strict=True).outcome is Outcome.FAILED


def test_every_finding_that_fails_a_test_is_told() -> None:
    message = conclude([FAILED, PASSED, ERRORED]).message
    assert message.count("dataset.rows (must) on run") == 2
    assert "it passed" not in message


@pytest.mark.parametrize(
    ("findings", "outcome"),
    [
        ([FAILED], Outcome.EXPECTED),
        ([VIOLATED], Outcome.EXPECTED),
        ([PASSED], Outcome.FAILED),
        ([SKIPPED], Outcome.SKIPPED),
        ([ERRORED], Outcome.FAILED),
        ([FAILED, ERRORED], Outcome.FAILED),
    ],
)
def test_an_expected_failure_is_strict_and_hides_nothing_unchecked(findings: list[Finding], outcome: Outcome) -> None:
    assert conclude(findings, EXPECTED).outcome is outcome


def test_an_unexpected_pass_says_what_to_remove() -> None:
    message = conclude([PASSED], EXPECTED).message
    assert message.startswith("UNEXPECTED PASS dataset.rows: the project expects it to fail: an old dump (https://")
    assert "remove its entry from [tool.eagle3-contracts.expected]" in message
