"""Kept logits give the log-probabilities of all of them, for the tokens that matter; distances see what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.numerics import log_softmax
from eagle3_contracts.subjects.goldens.kept import (
    COMPARED,
    KEPT,
    KeptLogits,
    cut_logits,
    dense_logits,
    find_kept_fault,
    spread_logits,
    top_logits,
)

ROWS, VOCABULARY = 6, 300


def draw(seed: int, scale: float = 4.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal((ROWS, VOCABULARY)) * scale).astype(np.float32)


def both(logits: np.ndarray) -> tuple[KeptLogits, KeptLogits]:
    return dense_logits(logits), top_logits(*cut_logits(logits))


@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 8.0, 40.0]), st.floats(-500, 500))
def test_both_forms_say_the_same_of_the_most_likely_tokens(seed: int, scale: float, offset: float) -> None:
    logits = draw(seed, scale) + np.float32(offset)
    dense, kept = both(logits)
    assert (dense.form, kept.form) == ("dense", "top-k")
    assert dense.ids.shape == kept.ids.shape == (ROWS, KEPT)
    np.testing.assert_array_equal(dense.ids, kept.ids)
    np.testing.assert_allclose(kept.logprobs, dense.logprobs, atol=2e-4)
    assert (np.diff(kept.logprobs, axis=-1) <= 0).all()


@pytest.mark.parametrize("form", [0, 1], ids=["dense", "top-k"])
def test_the_same_logits_are_at_no_distance_and_others_at_theirs(form: int) -> None:
    logits = draw(1)
    kept = both(logits)[form]
    gap, divergence = kept.distances(logits + 3)
    assert gap.max() < 1e-5
    assert np.abs(divergence).max() < 1e-6
    other = logits.copy()
    best = logits[2].argmax()
    other[2, best] -= 1
    gap, divergence = kept.distances(other)
    own = log_softmax(logits)
    expected = np.abs(own - log_softmax(other))[2, kept.ids[2, :COMPARED]].max()
    assert gap[2] == pytest.approx(expected, abs=1e-5)
    assert gap[[0, 1, 3, 4, 5]].max() < 1e-5
    assert divergence[2] > 1e-3


def test_the_divergence_of_kept_logits_is_never_larger_than_that_of_all() -> None:
    for seed in range(20):
        logits, other = draw(seed), draw(seed) + draw(seed + 100, 0.5)
        dense, kept = (form.distances(other)[1] for form in both(logits))
        assert (kept <= dense + 1e-6).all()
        assert (kept > 0).all()


def test_what_is_no_number_is_infinitely_far() -> None:
    logits = draw(3)
    broken = logits.copy()
    broken[1, 5] = np.nan
    for kept in both(logits):
        gap, divergence = kept.distances(broken)
        assert np.isinf(gap[1])
        assert np.isinf(divergence[1])
        assert np.isfinite(gap[0])
    gap, _ = dense_logits(broken).distances(logits)
    assert np.isinf(gap[1])


def test_spread_logits_are_normalised_and_keep_the_likely_ones() -> None:
    logits = draw(4)
    dense, kept = both(logits)
    assert spread_logits(dense, VOCABULARY) is dense.logits
    table = spread_logits(kept, VOCABULARY)
    assert table.shape == (ROWS, VOCABULARY)
    np.testing.assert_allclose(np.exp(table.astype(np.float64)).sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_array_equal(table.argmax(axis=-1), logits.argmax(axis=-1))


def test_a_vocabulary_smaller_than_what_is_kept_is_kept_whole() -> None:
    logits = draw(5)[:, :40]
    dense, kept = both(logits)
    assert kept.ids.shape == (ROWS, 40)
    np.testing.assert_allclose(kept.logprobs, dense.logprobs, atol=1e-5)
    assert np.abs(kept.distances(logits)[1]).max() < 1e-5


@given(st.integers(0, 10_000), st.sampled_from([0.1, 4.0, 40.0]), st.floats(-500, 500))
def test_what_was_cut_is_no_fault(seed: int, scale: float, offset: float) -> None:
    ids, values, _ = cut_logits(draw(seed, scale) + np.float32(offset))
    assert find_kept_fault(ids, values, VOCABULARY) == ""


def spoil(change: Callable[[dict[str, Any]], None]) -> str:
    ids, values, _ = cut_logits(draw(3))
    parts: dict[str, Any] = {"ids": ids.astype(np.int64), "values": values}
    change(parts)
    return find_kept_fault(parts["ids"], parts["values"], VOCABULARY)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda parts: parts.update(ids=parts["ids"] + VOCABULARY), "leave the vocabulary of 300"),
        (lambda parts: parts.update(ids=parts["ids"] - VOCABULARY), "leave the vocabulary of 300"),
        (lambda parts: parts["ids"].__setitem__((2, 5), parts["ids"][2, 6]), "stands twice"),
        (lambda parts: parts.update(values=parts["values"][:, ::-1]), "do not stand largest first"),
        (lambda parts: parts.update(ids=parts["ids"][:, :5], values=parts["values"][:, :5]), "5 logits of a row"),
    ],
)
def test_kept_logits_that_cannot_be_the_largest_are_told(change: Callable[[dict[str, Any]], None], told: str) -> None:
    assert told in spoil(change)


def test_the_least_likely_tokens_are_infinitely_far_though_their_own_numbers_are_right() -> None:
    logits = draw(4)
    ids = np.argsort(logits, axis=-1)[:, KEPT - 1 :: -1]
    total = np.log(np.exp(logits.astype(np.float64)).sum(axis=-1)).astype(np.float32)
    gap, _ = top_logits(ids, np.take_along_axis(logits, ids, -1), total).distances(logits)
    assert np.isinf(gap).all()
