"""Every launch clause says of a command what it should, in a message that stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.run import judge_clause
from support.judging import (
    launch_cases,
    launch_drafting_cases,
    launch_edge_cases,
    launch_limit_cases,
    launch_override_cases,
)
from support.judging.launch_cases import Case, served
from support.judging.standing import assert_stands_alone
from support.snapshots import compare_snapshot, list_unused, tell_findings

CASES = (
    *launch_cases.CASES,
    *launch_edge_cases.CASES,
    *launch_drafting_cases.CASES,
    *launch_limit_cases.CASES,
    *launch_override_cases.CASES,
)
CLAUSES = [clause.id for clause in clauses_of("launch")]
SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_clause_finds_what_the_command_shows(case: Case, tmp_path: Path) -> None:
    found = case.judge(tmp_path)
    assert ", ".join(f"{item.level} {item.verdict}" for item in found) == case.expected
    for item in found:
        assert_stands_alone(item, f"launch.{case.clause}", "serve.sh")
        if item.verdict is Verdict.FAILED:
            assert item.where.file or item.where.flag


@pytest.mark.parametrize("clause", clauses_of("launch"), ids=lambda clause: clause.id)
def test_where_no_command_was_read_nothing_is_judged(clause: Clause) -> None:
    (found,) = judge_clause(clause, served(), LaunchEvidence("nothing"))
    assert (found.clause, found.subject, found.verdict) == (clause.id, "nothing", Verdict.ERRORED)
    assert found.observed == "no command was read"


@pytest.mark.parametrize("clause", CLAUSES)
def test_messages_are_as_recorded(clause: str, tmp_path: Path) -> None:
    blocks = []
    for number, case in enumerate(CASES):
        if f"launch.{case.clause}" == clause:
            folder = tmp_path / str(number)
            folder.mkdir()
            told = tell_findings(case.judge(folder)).replace(str(folder), "FOLDER")
            blocks.append(f"== {case.name} ==\n{told}\n")
    compare_snapshot(SNAPSHOTS / f"{clause}.txt", "\n".join(blocks))


def test_no_snapshot_is_left_over() -> None:
    assert list_unused(SNAPSHOTS, [f"{clause}.txt" for clause in CLAUSES]) == []


@pytest.mark.parametrize("clause", CLAUSES)
def test_every_clause_is_seen_passing_failing_and_unable_to_tell(clause: str) -> None:
    verdicts = {
        item.split()[1] for case in CASES if f"launch.{case.clause}" == clause for item in case.expected.split(", ")
    }
    unable = set() if clause == "launch.readable" else {"errored"}
    assert {"passed", "failed"} | unable <= verdicts


def test_cases_have_names_of_their_own() -> None:
    titles = [case.title for case in CASES]
    assert len(titles) == len(set(titles))
