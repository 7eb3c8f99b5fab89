from __future__ import annotations

from typing import Any

import pytest

from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.subjects import Subject
from eagle3_contracts.testing.ledger import ABSENT, CLAUSE, Ledger, write_properties

DATASET = Subject("dataset", "/data", "data")
DOCUMENT = Subject("contract", "", "document")


def entry(clause_id: str, verdict: Verdict, subject: Subject = DATASET, hint: str = "give it") -> dict[str, str]:
    finding = clause(clause_id).find(verdict, subject.label, observed="seen", hint=hint, measure=float("nan"))
    return {CLAUSE: clause_id, **dict(write_properties([finding], ("c@1.0.0", "abc"), subject, None))}


def ledger_of(*entries: dict[str, Any]) -> Ledger:
    ledger = Ledger()
    for properties in entries:
        ledger.enter(properties)
    return ledger


def test_findings_come_back_as_they_were_written_in_the_order_of_the_registry() -> None:
    ledger = ledger_of(entry("dataset.rows", Verdict.FAILED), entry("dataset.safe", Verdict.PASSED))
    assert [(item.clause, item.verdict) for item in ledger.ordered()] == [
        ("dataset.safe", Verdict.PASSED),
        ("dataset.rows", Verdict.FAILED),
    ]
    assert list(ledger.subjects) == [DATASET]
    assert list(ledger.contracts) == [("c@1.0.0", "abc")]


def test_other_tests_are_left_alone() -> None:
    ledger = ledger_of({"contract.unrelated": "x"})
    assert not ledger.ran
    assert ledger.complaints([]) == []


@pytest.mark.parametrize(
    ("verdict", "reason"), [(Verdict.SKIPPED, "1 skipped"), (Verdict.ERRORED, "1 could not be checked")]
)
def test_a_run_in_which_nothing_passed_or_failed_proves_nothing(verdict: Verdict, reason: str) -> None:
    (sentence,) = ledger_of(entry("dataset.rows", verdict)).complaints([])
    assert sentence == f"no clause passed or failed, so this run proves nothing: {reason}"


def test_a_sound_document_proves_nothing_about_a_subject_that_was_skipped() -> None:
    document = entry("contract.tolerance", Verdict.PASSED, DOCUMENT)
    assert ledger_of(document).complaints([]) == []
    assert ledger_of(document, entry("dataset.rows", Verdict.SKIPPED)).complaints([])


def test_absent_stages_alone_prove_nothing_and_are_named() -> None:
    (sentence,) = ledger_of({CLAUSE: "capture.runs", ABSENT: "capture"}).complaints([])
    assert "no capture was given" in sentence


def test_a_test_that_ended_without_a_finding_is_no_proof() -> None:
    (sentence,) = ledger_of({CLAUSE: "capture.runs"}).complaints([])
    assert "1 tests ended without a finding" in sentence


@pytest.mark.parametrize(
    ("entries", "reasons"),
    [
        ([entry("dataset.rows", Verdict.PASSED)], []),
        ([entry("dataset.rows", Verdict.FAILED)], []),
        (
            [entry("dataset.safe", Verdict.PASSED), entry("dataset.rows", Verdict.SKIPPED)],
            ["dataset.rows on data was skipped: seen; give it"],
        ),
        (
            [entry("dataset.safe", Verdict.PASSED), entry("dataset.rows", Verdict.ERRORED)],
            ["dataset.rows on data was errored: seen; give it"],
        ),
        ([entry("dataset.safe", Verdict.PASSED), entry("dataset.scales", Verdict.SKIPPED, hint="")], []),
        ([entry("dataset.safe", Verdict.PASSED), {CLAUSE: "dataset.rows"}], ["dataset.rows has no finding"]),
        ([entry("capture.runs", Verdict.PASSED)], ["none of its clauses was checked"]),
        (
            [entry("capture.runs", Verdict.PASSED), {CLAUSE: "dataset.rows", ABSENT: "dataset"}],
            ["none of its clauses was checked"],
        ),
    ],
)
def test_a_required_stage_must_be_checked_whole(entries: list[dict[str, str]], reasons: list[str]) -> None:
    complaints = ledger_of(*entries).complaints(["dataset"])
    assert complaints == [f"the stage dataset is required, but {reason}" for reason in reasons]


def test_counts_of_workers_are_not_added_up() -> None:
    ledger = Ledger()
    for _ in range(2):
        ledger.count(48, 17, 3)
    assert (ledger.collected, ledger.selected, ledger.others) == (48, 17, 3)
