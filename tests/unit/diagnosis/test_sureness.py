"""How sure a comparison is: an exact paired test with one vote for each sample."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from eagle3_contracts.diagnosis.scoring import Score
from eagle3_contracts.diagnosis.sureness import ALPHA, compare_scores, least_samples, tail


def score(gain: list[float], correct: list[bool], owner: list[int]) -> Score:
    return Score(np.asarray(gain), np.asarray(gain), np.asarray(correct), np.asarray(owner))


@pytest.mark.parametrize("samples", range(1, 11))
def test_the_chance_is_that_of_throws_of_a_fair_coin(samples: int) -> None:
    heads = [sum(throws) for throws in product((0, 1), repeat=samples)]
    for votes in range(samples + 1):
        assert tail(votes, samples) == pytest.approx(sum(count >= votes for count in heads) / len(heads))


def test_as_few_samples_as_can_reach_beyond_doubt() -> None:
    assert tail(least_samples(), least_samples()) < ALPHA
    assert tail(least_samples() - 1, least_samples() - 1) >= ALPHA


def test_many_rows_of_one_sample_have_one_vote() -> None:
    better, worse = score([1.0] * 600, [True] * 600, [0] * 600), score([0.0] * 600, [False] * 600, [0] * 600)
    found = compare_scores(better, worse)
    assert (found.votes, found.samples, found.chance) == (1, 1, 0.5)
    assert not found.beyond_doubt


def test_a_gain_of_rounding_is_not_beyond_doubt_however_sure() -> None:
    owner = list(range(40))
    base = score([0.0] * 40, [True] * 40, owner)
    assert not compare_scores(score([0.001] * 40, [True] * 40, owner), base).beyond_doubt
    assert compare_scores(score([0.1] * 40, [True] * 40, owner), base).beyond_doubt


def test_likelihood_alone_drafts_no_more_tokens() -> None:
    owner = list(range(40))
    base = score([0.0] * 40, [True] * 20 + [False] * 20, owner)
    sharper = compare_scores(score([0.1] * 40, [True] * 20 + [False] * 20, owner), base)
    assert sharper.beyond_doubt
    assert not sharper.drafts_more
    assert compare_scores(score([0.1] * 40, [True] * 40, owner), base).drafts_more


def test_equal_hypotheses_are_beyond_doubt_no_more_often_than_stated() -> None:
    draw = np.random.default_rng(5)
    owner = np.repeat(np.arange(24), 30)
    # Rows of a sample share most of what they differ by: clustered as a test over rows would not expect.
    convicted = 0
    for _ in range(2000):
        shared = draw.normal(size=24)[owner] + 0.2 * draw.normal(size=len(owner))
        first = Score(shared, shared, shared > 0, owner)
        base = Score(np.zeros(len(owner)), np.zeros(len(owner)), np.zeros(len(owner), bool), owner)
        convicted += compare_scores(first, base).beyond_doubt
    assert convicted <= 8
