"""The kill matrix as it is stored: complete, and its page in step. ``test_caught.py`` compares each row with a run."""

from __future__ import annotations

import pytest

from eagle3_contracts.faults import Fault, Kind, list_faults
from eagle3_contracts.registry import CLAUSES
from support.museum.exhibits import judging_clauses
from support.museum.matrix import MATRIX, PAGE, Row, compare_row, dump_matrix, read_matrix
from support.museum.page import write_page
from support.snapshots import VARIABLE

FAULTS_AT_LEAST = 120


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    return read_matrix()


def test_there_is_a_row_for_every_fault_and_for_nothing_else(rows: dict[str, Row]) -> None:
    assert list(rows) == [fault.id for fault in list_faults()]
    assert MATRIX.read_text(encoding="utf-8") == dump_matrix(rows)


def test_the_page_shows_the_rows(rows: dict[str, Row]) -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(rows), f"run tests/faults/test_caught.py with {VARIABLE}=1"


@pytest.mark.parametrize("fault", list_faults(), ids=lambda fault: fault.id)
def test_a_row_says_what_the_catalogue_says(fault: Fault, rows: dict[str, Row]) -> None:
    row = rows[fault.id]
    assert (row["kind"], row["stage"], row["mechanism"], row["source"]) == (
        str(fault.kind),
        fault.stage,
        fault.mechanism,
        fault.source,
    )
    assert fault.clause in row["failed"]
    judged = row["failed"] + row["errored"] + row["skipped"]
    assert len(set(judged)) == len(judged)
    assert row["passed"] == len(judging_clauses(fault.stage)) - len(judged)


def test_every_clause_kills_a_fault_that_is_named_for_it(rows: dict[str, Row]) -> None:
    assert {row["clause"] for row in rows.values() if row["clause"] in row["failed"]} == {item.id for item in CLAUSES}


def test_there_are_enough_faults_of_all_kinds_and_no_two_are_one(rows: dict[str, Row]) -> None:
    """Counted by kind, stage and mechanism, so that one defect in another size counts once."""
    distinct = {(row["kind"], row["stage"], row["mechanism"]) for row in rows.values()}
    assert len(distinct) == len(rows) >= FAULTS_AT_LEAST
    assert {row["kind"] for row in rows.values()} == set(Kind)
    assert len(Kind) == 12


def test_another_row_is_told(rows: dict[str, Row]) -> None:
    fault = list_faults()[0]
    with pytest.raises(AssertionError, match=VARIABLE):
        compare_row(fault, {**rows[fault.id], "failed": []})


def test_nothing_is_rewritten_in_ci(rows: dict[str, Row], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setenv("CI", "true")
    before = MATRIX.read_bytes(), PAGE.read_bytes()
    fault = list_faults()[0]
    with pytest.raises(AssertionError, match="in CI"):
        compare_row(fault, {**rows[fault.id], "failed": []})
    assert (MATRIX.read_bytes(), PAGE.read_bytes()) == before
