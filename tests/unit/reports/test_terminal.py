from __future__ import annotations

from eagle3_contracts.findings import Rung, Verdict, Where
from eagle3_contracts.registry import clause
from eagle3_contracts.reports.terminal import (
    describe_counts,
    describe_finding,
    describe_reservations,
    describe_unchecked,
    plain,
    violated_shoulds,
)

BOUNDARY, RANGE = clause("dataset.boundary"), clause("dataset.norm-range")
FAILED = BOUNDARY.find(
    Verdict.FAILED,
    "run-17",
    observed="boundary 3",
    expected="boundary 2",
    where=Where(file="data_3.pt", plane="low", token=17),
    rung=Rung.FULL,
    measure=0.93125,
    bound=0.03,
    hint="the ids were written for another engine; run: eagle3-contracts explain NAME",
)


def test_a_finding_stands_alone() -> None:
    assert describe_finding(FAILED).splitlines() == [
        "FAILED dataset.boundary (must) on run-17, rung: full target",
        "  observed: boundary 3",
        "  expected: boundary 2",
        "  where:    data_3.pt, plane low, token 17",
        "  measure:  0.9313, bound 0.03",
        "  hint:     the ids were written for another engine; run: eagle3-contracts explain NAME",
    ]


def test_what_could_not_be_checked_says_so_first_and_expects_the_clause_itself() -> None:
    lines = describe_finding(BOUNDARY.find(Verdict.ERRORED, "x", observed="torch is missing")).splitlines()
    assert lines == [
        "COULD NOT CHECK dataset.boundary (must) on x",
        "  observed: torch is missing",
        "  expected: Every plane is the residual stream at its declared boundary.",
    ]


def test_a_violated_should_is_not_called_a_failure() -> None:
    assert describe_finding(RANGE.find(Verdict.FAILED, "x")).startswith("violated dataset.norm-range (should) on x")


def test_long_fields_are_folded_under_their_name_and_keep_their_own_lines() -> None:
    text = describe_finding(RANGE.find(Verdict.FAILED, "x", observed="word " * 40, hint="first\nsecond"))
    lines = text.splitlines()
    assert lines[1].startswith("  observed: word word")
    assert lines[2].startswith("            word")
    assert max(map(len, lines)) <= 110
    assert lines[-2:] == ["  hint:     first", "            second"]


def test_names_from_files_cannot_drive_the_terminal() -> None:
    text = describe_finding(BOUNDARY.find(Verdict.FAILED, "\x1b[2J", where=Where(file="a\u202eb\r\udc80")))
    assert "\\x1b[2J" in text
    assert "a\\u202eb\\r\\udc80" in text
    assert text.encode()
    assert plain("\tkept\n") == "\tkept\n"


def test_one_reason_for_several_clauses_is_told_once() -> None:
    boundary, rows = BOUNDARY, clause("dataset.rows")
    errored = [
        item.find(Verdict.ERRORED, "x", observed="torch is missing", hint="install it") for item in (boundary, rows)
    ]
    skipped = [item.find(Verdict.SKIPPED, "x", observed="no target") for item in (boundary, rows)]
    alone = rows.find(Verdict.ERRORED, "y", observed="torch is missing", hint="install it")
    assert list(describe_unchecked([*skipped, *errored, FAILED, alone])) == [
        (
            "\nCOULD NOT CHECK 2 clauses on x\n  observed: torch is missing\n"
            "  clauses:  dataset.boundary, dataset.rows\n  hint:     install it"
        ),
        f"\n{describe_finding(alone)}",
        "\nskipped on x\n  clauses:  dataset.boundary, dataset.rows\n  reason:   no target",
    ]


def test_counts_go_stage_by_stage_and_name_violated_shoulds() -> None:
    findings = [
        clause("capture.runs").find(Verdict.PASSED, "c"),
        FAILED,
        RANGE.find(Verdict.FAILED, "x"),
        RANGE.find(Verdict.SKIPPED, "y"),
    ]
    assert describe_counts(findings) == ["capture    1 passed", "dataset    2 failed, 1 skipped (1 of a should)"]
    assert violated_shoulds(findings) == [findings[2]]


def test_a_pass_that_speaks_of_a_part_says_so() -> None:
    readable = clause("dataset.readable").find(Verdict.PASSED, "x", observed="64 of 100 files", hint="36 not read")
    findings = [readable, clause("dataset.rows").find(Verdict.PASSED, "x", observed="all"), FAILED]
    assert describe_reservations(findings) == ["dataset    x: 64 of 100 files; 36 not read"]
