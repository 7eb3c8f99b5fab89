"""Dialects and their inverses agree: exhaustively for small targets, by Hypothesis for large ones."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import DIALECTS, Dialect, Inverse, Outcome, Refusal, invert
from eagle3_contracts.dialects.resolution import Resolution

DISTINCT = tuple({dialect.rule: dialect for dialect in DIALECTS}.values())
"""One dialect for each rule; the same rule of another version or architecture adds nothing here."""
SMALL = 7

every_dialect = pytest.mark.parametrize("dialect", DISTINCT, ids=lambda dialect: dialect.label.replace(" ", "_"))


def lists_by_layout(dialect: Dialect, layers: int, longest: int) -> dict[tuple[Tap, ...], set[tuple[int, ...]]]:
    """Read every list of distinct ids up to a length; keep those that mean a layout and waste no id."""
    found: dict[tuple[Tap, ...], set[tuple[int, ...]]] = defaultdict(set)
    for length in range(1, longest + 1):
        for ids in permutations(range(-layers - 3, layers + 4), length):
            resolution = dialect.resolve(ids, layers)
            if resolution.runs and not resolution.ignored:
                found[resolution.taps].add(ids)
    return found


@every_dialect
def test_the_inverse_is_exactly_what_brute_force_finds(dialect: Dialect) -> None:
    found = lists_by_layout(dialect, SMALL, 3)
    for layout, lists in found.items():
        inverse = invert(dialect, layout, SMALL)
        assert isinstance(inverse, Inverse)
        assert {ids for ids in inverse.lists if len(ids) <= 3} == lists
        assert inverse.complete


@every_dialect
def test_a_layout_that_no_list_means_is_refused_with_a_reason(dialect: Dialect) -> None:
    found = lists_by_layout(dialect, SMALL, 2)
    every_tap = [Tap(boundary) for boundary in range(SMALL)] + [Tap(SMALL, "pre_norm"), Tap(SMALL, "post_norm")]
    appends = dialect.rule.appended(SMALL) is not None
    for layout in permutations(every_tap, 2):
        inverse = invert(dialect, layout, SMALL)
        meant = layout in found or dialect.resolve(None, SMALL).means(layout)
        assert isinstance(inverse, Refusal) != meant or appends
        if isinstance(inverse, Refusal):
            assert inverse.reason


@every_dialect
@given(data=st.data())
def test_boundaries_to_ids_to_boundaries(dialect: Dialect, data: st.DataObject) -> None:
    layers = data.draw(st.integers(7, 90))
    reach = dialect.reach(layers)
    if not reach:
        assert isinstance(invert(dialect, [Tap(2), Tap(3)], layers), Refusal)
        return
    taps = data.draw(st.lists(st.sampled_from(reach), min_size=1, max_size=4, unique=True))
    layout = tuple(taps) if data.draw(st.booleans()) else dialect.rule.arrange(taps, layers)
    inverse = invert(dialect, layout, layers)
    if isinstance(inverse, Refusal):
        assert not dialect.resolve(None, layers).means(layout)
        return
    for ids in inverse.lists:
        assert dialect.resolve(ids, layers).means(layout)
    assert inverse.default == dialect.resolve(None, layers).means(layout)
    assert inverse.stable in inverse.lists or not inverse.lists


@every_dialect
@given(ids=st.none() | st.lists(st.integers(-70, 70), max_size=6), layers=st.integers(1, 64))
def test_every_list_has_an_outcome(dialect: Dialect, ids: list[int] | None, layers: int) -> None:
    resolution = dialect.resolve(ids, layers)
    assert isinstance(resolution, Resolution)
    assert resolution.outcome in Outcome
    assert resolution.runs or resolution.note
    assert set(resolution.ignored) <= set(ids or dialect.resolve(None, layers).ignored)
    assert all(0 <= boundary <= layers for boundary in resolution.boundaries)
    if dialect.rule.order == "depth":
        assert resolution.taps == dialect.rule.arrange(resolution.taps, layers)


@given(layers=st.integers(7, 90))
def test_defaults_mean_the_reference_boundaries_except_where_the_table_says_otherwise(layers: int) -> None:
    expected = (2, layers // 2, layers - 3)
    for dialect in DISTINCT:
        resolution = dialect.resolve(None, layers)
        if not resolution.runs:
            continue
        inner = tuple(boundary for boundary in resolution.boundaries if boundary != layers)
        if dialect.tool.name == "speculators" and dialect.covers("0.4.0"):
            assert resolution.boundaries == (3, layers // 2 + 1, layers - 2, layers)
        elif getattr(dialect.rule, "shifted_default", False):
            assert inner == tuple(boundary + 1 for boundary in expected)
        else:
            assert inner == tuple(sorted(expected)), dialect.label
