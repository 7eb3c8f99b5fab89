"""Rates of acceptance by position, and which of them is lower beyond chance."""

from __future__ import annotations

import pytest

from eagle3_contracts.clauses.bounds import SURE
from eagle3_contracts.clauses.server.shape import Rate, rates_of


@pytest.mark.parametrize(
    ("served", "predicted", "statistic"),
    [
        (Rate(100, 28), Rate(100, 50), 3.19),
        (Rate(100, 29), Rate(100, 50), 3.04),
        (Rate(40, 7), Rate(400, 180), 3.35),
        (Rate(40, 8), Rate(400, 180), 3.05),
        (Rate(400, 148), Rate(40, 25), 3.15),
        (Rate(400, 150), Rate(40, 25), 3.08),
    ],
)
def test_a_share_is_lower_where_two_proportions_differ_beyond_chance(
    served: Rate, predicted: Rate, statistic: float
) -> None:
    assert served.is_below(predicted) is (statistic > SURE)
    assert not predicted.is_below(served)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Rate(100, 50), Rate(100, 50)), (Rate(100, 0), Rate(100, 0)), (Rate(0, 0), Rate(9, 5)), (Rate(9, 0), Rate(0, 0))],
)
def test_equal_shares_and_those_of_nothing_tell_nothing(one: Rate, other: Rate) -> None:
    assert not one.is_below(other)
    assert not other.is_below(one)


def test_a_position_is_tried_in_the_rounds_that_accepted_all_before_it() -> None:
    assert rates_of((15, 20, 10)) == (Rate(45, 30), Rate(30, 10))
    assert rates_of((15,)) == ()
    assert rates_of((15, 20), 3) == (Rate(35, 20), Rate(20, 0))
