"""Every clause on recordings says of hand-made evidence what it should, in words that stand alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.run import judge_clause
from support.judging import golden_cases, golden_edge_cases
from support.judging.golden_cases import ABSENT, NO_JSON, GoldenCase
from support.judging.golden_evidence import TOY
from support.judging.standing import assert_stands_alone, tell_cases, verdicts_of
from support.snapshots import compare_snapshot, list_unused

CASES = (*golden_cases.CASES, *golden_edge_cases.CASES)
CLAUSES = clauses_of("golden")
SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_clause_finds_what_the_evidence_shows(case: GoldenCase) -> None:
    assert tuple(f"{item.level} {item.verdict}" for item in case.judge()) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_message_stands_alone(case: GoldenCase) -> None:
    for item in case.judge():
        assert_stands_alone(item, case.clause, case.evidence.subject)
        if item.verdict is Verdict.FAILED:
            assert item.measure != item.bound


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_messages_are_as_recorded(clause: Clause) -> None:
    compare_snapshot(SNAPSHOTS / f"{clause.id}.txt", tell_cases(CASES, clause.id))


def test_no_snapshot_is_left_over() -> None:
    assert list_unused(SNAPSHOTS, [f"{clause.id}.txt" for clause in CLAUSES]) == []


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_every_clause_is_seen_passing_failing_and_unable_to_tell(clause: Clause) -> None:
    assert {"passed", "failed", "errored"} <= verdicts_of(CASES, clause.id)


@pytest.mark.parametrize(
    "evidence", [ABSENT, NO_JSON, golden_edge_cases.NOTHING], ids=["absent", "no manifest", "an empty one"]
)
@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_nothing_passes_or_is_skipped_without_a_recording(clause: Clause, evidence: object) -> None:
    verdicts = {item.verdict for item in judge_clause(clause, TOY, evidence)}
    assert verdicts <= {Verdict.FAILED, Verdict.ERRORED}


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_no_check_raises_whatever_the_evidence(clause: Clause) -> None:
    for case in CASES:
        found = judge_clause(clause, case.contract, case.evidence)
        assert {(item.clause, item.subject) for item in found} == {(clause.id, case.evidence.subject)}, case.title


def test_cases_have_names_of_their_own() -> None:
    titles = [case.title for case in CASES]
    assert len(titles) == len(set(titles))
