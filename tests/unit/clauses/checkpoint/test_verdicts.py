"""Every checkpoint clause says of hand-made evidence what it should, in a message that stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.registry import Clause, clauses_of
from support.judging import (
    checkpoint_cases,
    checkpoint_engine_cases,
    checkpoint_layer_cases,
    checkpoint_value_cases,
)
from support.judging.cases import Case
from support.judging.standing import assert_stands_alone, tell_cases, verdicts_of
from support.snapshots import compare_snapshot, list_unused

CASES = (
    *checkpoint_cases.CASES,
    *checkpoint_value_cases.CASES,
    *checkpoint_engine_cases.CASES,
    *checkpoint_layer_cases.CASES,
)
CLAUSES = clauses_of("checkpoint")
SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_clause_finds_what_the_evidence_shows(case: Case) -> None:
    found = case.judge()
    assert tuple(f"{item.level} {item.verdict}" for item in found) == case.expected
    for item in found:
        assert_stands_alone(item, case.clause, case.evidence.subject)


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_messages_are_as_recorded(clause: Clause) -> None:
    compare_snapshot(SNAPSHOTS / f"{clause.id}.txt", tell_cases(CASES, clause.id))


def test_no_snapshot_is_left_over() -> None:
    assert list_unused(SNAPSHOTS, [f"{clause.id}.txt" for clause in CLAUSES]) == []


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_every_clause_is_seen_passing_failing_and_unable_to_tell(clause: Clause) -> None:
    assert {"passed", "failed", "errored"} <= verdicts_of(CASES, clause.id)


def test_cases_have_names_of_their_own() -> None:
    titles = [case.title for case in CASES]
    assert len(titles) == len(set(titles))
