"""The kept figures hold: below them a clause passes, above them it fails, and a share of bad files is met as often.

Every numeric clause has a figure, or a reason to have none.
"""

from __future__ import annotations

import pytest

from eagle3_contracts.contract import Contract
from support.museum.figures import read_figures
from support.museum.numeric import find_numeric
from support.museum.sensitivity import SIZES, UNMEASURED
from support.museum.sensitivity.chances import SHARES, find_chances
from support.museum.sensitivity.size import Size

HELD_CLAUSES = ("dataset.zero-rows", "server.batch", "server.counters", "server.logprobs")
HELD_SIZES = (
    "noise on every plane in a batch",
    "noise on one row of one boundary in bfloat16",
    "noise on rows of generated tokens alone",
)
HELD = [
    size
    for size in SIZES
    if size.clause in HELD_CLAUSES or size.what in HELD_SIZES or size.what.startswith("rows of lm")
]
"""Sizes that are held to their figures here, some of every stage: those that are measured within seconds."""


def test_some_of_every_stage_but_the_loaders_are_held() -> None:
    assert {size.clause.partition(".")[0] for size in HELD} == {"capture", "dataset", "checkpoint", "golden", "server"}


def test_every_numeric_clause_has_a_figure_or_a_reason_for_none() -> None:
    measured, numeric = {size.clause for size in SIZES}, find_numeric()
    assert numeric - measured == set(UNMEASURED)
    assert all(UNMEASURED.values())


def test_numeric_clauses_are_told_from_the_others() -> None:
    """Bounds behind a helper, behind an import, at the head of a module and of the contract; and none."""
    numeric = find_numeric()
    assert numeric >= {"capture.boundary", "server.accepted-tokens", "server.counters", "dataset.norm-range"}
    assert not numeric & {"dataset.safe", "checkpoint.taps", "golden.integrity", "server.reachable", "launch.taps"}


def test_every_size_and_share_has_its_figures() -> None:
    figures = read_figures()
    assert [(row["what"], row["clause"]) for row in figures["sizes"]] == [(size.what, size.clause) for size in SIZES]
    assert [row["share"] for row in figures["chances"]] == list(SHARES)


@pytest.mark.parametrize("size", HELD, ids=lambda size: f"{size.clause}: {size.what}")
def test_a_fault_is_caught_above_its_figure_and_not_below(size: Size, contract: Contract) -> None:
    kept = next(row for row in read_figures()["sizes"] if (row["what"], row["clause"]) == (size.what, size.clause))
    assert 0 <= kept["passes"] < kept["fails"] <= size.high
    assert not size.caught(contract, kept["passes"], 0)
    assert size.caught(contract, kept["fails"], 0)
    larger = (kept["fails"] + size.high) / 2
    assert size.caught(contract, larger // 1 if size.whole else larger, 0)


def test_more_bad_files_are_met_more_often() -> None:
    rows = read_figures()["chances"]
    assert list(find_chances(0.05, contiguous=False)) == next(row["anywhere"] for row in rows if row["share"] == 0.05)
    for place in ("anywhere", "in one stretch"):
        for part in (0, 1):
            chances = [row[place][part] for row in rows]
            assert chances == sorted(chances)
    assert all(row["anywhere"][1] <= row["anywhere"][0] for row in rows)
