"""The kept figures of the mutants (`tox -e mutants`): enough are killed, and each that lived has a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.mutants.record import (
    LEAST,
    PAGE,
    bound_share,
    describe_trial,
    read_reasons,
    read_record,
    score,
    write_page,
)
from support.mutants.trying import PACKAGE, Trial, draw


def test_the_tests_kill_enough() -> None:
    record = read_record()
    for part in ("clauses", "dialects", "numerics"):
        killed, tried = score(record, part)
        assert tried > 0
        assert killed / tried >= LEAST, part
    low, _ = bound_share(*score(record))
    assert low >= LEAST, "of the sample; of all mutants less may be killed"


def test_each_that_lived_has_a_reason_of_its_own() -> None:
    record = read_record()
    killed, tried = score(record)
    assert len(record["survivors"]) == tried - killed
    assert set(read_reasons()) == {name.removeprefix(f"{PACKAGE}.") for name in record["survivors"]}


def test_the_page_tells_what_is_kept() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(read_record(), read_reasons())


def test_what_no_test_reaches_or_what_ends_oddly_is_not_killed() -> None:
    statuses = ("killed", "timeout", "survived", "no tests", "segfault")
    trial = Trial({f"{PACKAGE}.clauses.x__mutmut_{item}": item for item in statuses}, {}, 5)
    assert [name.rpartition("_")[2] for name in trial.survivors] == ["survived", "no tests", "segfault"]
    diffs = dict.fromkeys(trial.survivors, "# x\n--- a.py\n+++ a.py\n@@ -1 +1 @@\n same\n-    old\n+    new\n")
    record = describe_trial(replace(trial, diffs=diffs), seed=3, tool="mutmut", commit="abc")
    assert score(record) == score(record, "clauses") == (2, 5)
    assert set(map(tuple, record["survivors"].values())) == {("- old", "+ new")}
    page = write_page(record, {})
    assert "| clauses | 5 | 2 | 40.0% |" in page
    assert page.count("no reason is given") == 3


def test_a_small_part_is_drawn_whole() -> None:
    names = [f"{PACKAGE}.clauses.x__mutmut_{number}" for number in range(500)]
    small = [f"{PACKAGE}.numerics.x__mutmut_{number}" for number in range(20)]
    drawn = draw([*names, *small], 30, seed=1)
    assert set(small) <= set(drawn)
    assert 10 <= len(set(drawn) - set(small)) <= 30
    assert drawn == draw([*names, *small], 30, seed=1) != draw([*names, *small], 30, seed=2)


def test_the_interval_holds_the_share() -> None:
    low, high = bound_share(90, 100)
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)
    assert bound_share(100, 100)[1] == pytest.approx(1)
