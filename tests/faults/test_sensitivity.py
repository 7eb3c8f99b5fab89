"""The kept figures hold: below them a clause passes, above them it fails, and a share of bad files is met as often."""

from __future__ import annotations

import pytest

from eagle3_contracts.contract import Contract
from support.museum.figures import read_figures
from support.museum.sensitivity import SHARES, SIZES, Size, find_chances

HELD = [
    size
    for size in SIZES
    if size.clause in {"dataset.boundary", "dataset.zero-rows", "dataset.token-shift"}
    or size.what.startswith("rows of lm")
]


def test_every_size_and_share_has_its_figures() -> None:
    figures = read_figures()
    assert [(row["what"], row["clause"]) for row in figures["sizes"]] == [(size.what, size.clause) for size in SIZES]
    assert [row["share"] for row in figures["chances"]] == list(SHARES)


@pytest.mark.parametrize("size", HELD, ids=lambda size: f"{size.clause}: {size.what}")
def test_a_fault_is_caught_above_its_figure_and_not_below(size: Size, contract: Contract) -> None:
    kept = next(row for row in read_figures()["sizes"] if (row["what"], row["clause"]) == (size.what, size.clause))
    assert 0 <= kept["passes"] < kept["fails"] <= size.high
    assert not size.caught(contract, kept["passes"])
    assert size.caught(contract, kept["fails"])
    assert size.caught(contract, (kept["fails"] + size.high) // 2 if size.whole else (kept["fails"] + size.high) / 2)


def test_more_bad_files_are_met_more_often() -> None:
    rows = read_figures()["chances"]
    assert list(find_chances(0.05, contiguous=False)) == next(row["anywhere"] for row in rows if row["share"] == 0.05)
    for place in ("anywhere", "in one stretch"):
        for part in (0, 1):
            chances = [row[place][part] for row in rows]
            assert chances == sorted(chances)
    assert all(row["anywhere"][1] <= row["anywhere"][0] for row in rows)
