"""Every server clause says of hand-made evidence what it should, in a message that stands alone."""

from __future__ import annotations

import dataclasses
from itertools import chain
from pathlib import Path

import pytest

from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry.clause import Clause
from eagle3_contracts.registry.server import SERVER
from eagle3_contracts.run import judge_clause
from support.judging import (
    server_answer_cases,
    server_answer_edge_cases,
    server_cases,
    server_edge_cases,
    server_number_edge_cases,
    server_row_edge_cases,
)
from support.judging.cases import Case
from support.judging.documents import toy_contract
from support.judging.server_evidence import gone
from support.judging.standing import assert_stands_alone, tell_cases, verdicts_of
from support.snapshots import compare_snapshot, list_unused

EDGES = (
    *server_edge_cases.CASES,
    *server_row_edge_cases.CASES,
    *server_answer_edge_cases.CASES,
    *server_number_edge_cases.CASES,
)
CASES = (*server_cases.CASES, *server_answer_cases.CASES, *EDGES)
CONTRACTS = (toy_contract(), toy_contract("low"), toy_contract("normed"))
SNAPSHOTS = Path(__file__).with_name("snapshots")
SEEN = {"passed", "failed", "errored"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_clause_finds_what_the_evidence_shows(case: Case) -> None:
    found = case.judge()
    assert tuple(f"{item.level} {item.verdict}" for item in found) == case.expected
    for item in found:
        assert_stands_alone(item, case.clause, case.evidence.subject)
        if item.verdict is Verdict.FAILED:
            assert item.measure != item.bound


@pytest.mark.parametrize("clause", SERVER, ids=lambda clause: clause.id)
def test_messages_are_as_recorded(clause: Clause) -> None:
    compare_snapshot(SNAPSHOTS / f"{clause.id}.txt", tell_cases(CASES, clause.id))


def test_no_snapshot_is_left_over() -> None:
    assert list_unused(SNAPSHOTS, [f"{clause.id}.txt" for clause in SERVER]) == []


@pytest.mark.parametrize("clause", SERVER, ids=lambda clause: clause.id)
def test_every_clause_is_seen_passing_failing_and_unable_to_tell(clause: Clause) -> None:
    assert verdicts_of(CASES, clause.id) >= SEEN


def test_cases_have_names_of_their_own() -> None:
    titles = [case.title for case in CASES]
    assert len(titles) == len(set(titles))


def test_no_check_raises_and_every_one_finds_something_whatever_the_evidence() -> None:
    for case in CASES[: -len(EDGES)]:
        for contract in CONTRACTS:
            for clause in SERVER:
                found = judge_clause(clause, contract, case.evidence)
                assert {(item.clause, item.subject) for item in found} == {(clause.id, case.evidence.subject)}, (
                    clause.id
                )


@pytest.mark.parametrize("kind", ["unreachable", "timeout", "status", "no-json", "exited", "malformed"])
def test_a_server_that_does_not_answer_fails_once_and_passes_nothing(kind: str) -> None:
    found = {clause.id: judge_clause(clause, CONTRACTS[0], gone(kind)) for clause in SERVER}
    assert {item.verdict for item in found.pop("server.reachable")} == {Verdict.FAILED}
    assert {item.verdict for item in chain(*found.values())} == {Verdict.ERRORED}


def test_every_finding_names_what_stands_in() -> None:
    for case in CASES:
        if isinstance(case.evidence.subject, str) and not case.evidence.stand_ins:
            beside = dataclasses.replace(case, evidence=dataclasses.replace(case.evidence, stand_ins=("a wheel",)))
            assert all("[stands in: a wheel]" in item.observed for item in beside.judge()), case.title
