"""Records of evidence add up the same in any grouping, and sketches keep their error bound."""

from __future__ import annotations

import dataclasses
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord, Problem, Signature, Stranger, Tally
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch
from eagle3_contracts.subjects.datasets.merging import merge_all, merge_evidence
from eagle3_contracts.subjects.datasets.repeats import (
    KEPT_POSITIONS,
    KEPT_TOKENS,
    count_repeats,
    merge_digests,
    settle_repeats,
)
from eagle3_contracts.subjects.datasets.sampling import sample_evenly
from eagle3_contracts.subjects.datasets.stored import StoredPlane
from eagle3_contracts.subjects.datasets.walking import natural_key, printable
from support.datasets import read_evidence
from support.formats import make_samples, write_dataset

COUNTS = st.integers(0, 9)
FILES = st.sampled_from(["a", "b", "c"])
PLACES = st.builds(Where, file=FILES, token=st.integers(0, 3))
TALLIES = st.builds(Tally, COUNTS, st.lists(PLACES, max_size=5).map(tuple))
SKETCHES = st.lists(st.floats(0, 1e6), max_size=6).map(QuantileSketch.of)
DIGESTS = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 9)), st.integers(0, 3), max_size=12).map(
    lambda drawn: merge_digests(drawn, {})
)
SIGNATURES = st.builds(Signature, st.integers(1, 2), st.just((8,)), st.just(("bfloat16",)), COUNTS, st.none())
PLANES = st.builds(PlaneRecord, COUNTS, TALLIES, TALLIES, SKETCHES, COUNTS, COUNTS, DIGESTS)
DECLARED = st.dictionaries(
    st.sampled_from(["x", "y"]), st.one_of(st.booleans(), st.just((False, True)), st.just({"ids": [1, 2]})), max_size=2
)
MAXIMA = st.one_of(st.just((None, Where())), st.tuples(st.integers(0, 3), PLACES))


@st.composite
def records(draw: st.DrawFn) -> DatasetEvidence:
    """Draw a record in which everything may be set."""
    keyed: Any = st.dictionaries(FILES, TALLIES, max_size=2)
    maximum, where = draw(MAXIMA)
    return DatasetEvidence(
        "drawn",
        format=draw(st.sampled_from([None, "specforge", "modelopt"])),
        files_found=draw(COUNTS),
        files_read=draw(COUNTS),
        samples=draw(COUNTS),
        signatures=draw(st.dictionaries(SIGNATURES, TALLIES, max_size=2)),
        planes=draw(st.lists(PLANES, max_size=3).map(tuple)),
        tokens_below_zero=draw(TALLIES),
        token_maximum=maximum,
        token_maximum_where=where,
        mask_other=draw(TALLIES),
        mask_all_zero=draw(TALLIES),
        mask_all_one=draw(TALLIES),
        identical_planes=draw(st.dictionaries(st.just((0, 1)), TALLIES, max_size=1)),
        token_digests=draw(keyed),
        state_digests=draw(keyed),
        lengths=draw(SKETCHES),
        recaptured=draw(COUNTS),
        strangers=draw(st.lists(st.builds(Stranger, PLACES, st.just(1.0)), max_size=2).map(tuple)),
        problems=draw(st.lists(st.builds(Problem, FILES, FILES, FILES, PLACES), max_size=2).map(tuple)),
        notes=draw(st.lists(FILES, max_size=2, unique=True).map(tuple)),
        declared=draw(DECLARED),
    )


EMPTY = DatasetEvidence("drawn")


@given(records(), records(), records())
def test_merging_is_associative(one: DatasetEvidence, two: DatasetEvidence, three: DatasetEvidence) -> None:
    left = merge_evidence(merge_evidence(one, two), three)
    right = merge_evidence(one, merge_evidence(two, three))
    assert left == right
    assert list(left.signatures) == list(right.signatures)
    assert settle_repeats(left) == settle_repeats(right)


@given(records())
def test_nothing_added_changes_nothing(one: DatasetEvidence) -> None:
    assert merge_evidence(EMPTY, one) == one
    assert merge_evidence(one, EMPTY) == one


def test_of_two_parts_the_first_names_the_place_and_the_format() -> None:
    one = dataclasses.replace(EMPTY, format="specforge", token_maximum=7, token_maximum_where=Where(file="a"))
    two = dataclasses.replace(EMPTY, format="modelopt", token_maximum=7, token_maximum_where=Where(file="b"))
    merged = merge_evidence(one, two)
    assert (merged.format, merged.token_maximum_where.file) == ("specforge", "a")
    higher = merge_evidence(one, dataclasses.replace(two, token_maximum=8))
    assert (higher.token_maximum, higher.token_maximum_where.file) == (8, "b")


@given(st.lists(records(), max_size=5))
def test_many_records_merge_as_one_after_the_other(drawn: list[DatasetEvidence]) -> None:
    folded = EMPTY
    for record in drawn:
        folded = merge_evidence(folded, record)
    assert merge_all(drawn, EMPTY) == folded


@pytest.mark.parametrize("format_id", ["speculators-v1", "tensorrt-llm", "vllm-connector"])
def test_parts_of_a_dataset_add_up_to_the_whole(format_id: str) -> None:
    samples = make_samples(6, embedding_plane=0)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_dataset(format_id, Path(folder), samples)
        whole = read_evidence(folder)
        parts = [read_evidence(path) for path in paths]
    merged = merge_all(parts, DatasetEvidence("under test", scan="full"))
    counted = [(plane.rows, plane.norms, plane.zero) for plane in merged.planes]
    assert counted == [(plane.rows, plane.norms, plane.zero) for plane in whole.planes]
    assert (merged.samples, merged.lengths, merged.token_maximum) == (whole.samples, whole.lengths, whole.token_maximum)
    assert merged.token_digests == whole.token_digests
    assert whole.planes[0].repeat_pairs > merged.planes[0].repeat_pairs
    assert whole.planes[0].repeat_equal == whole.planes[0].repeat_pairs


@given(arrays.arrays(np.float64, st.integers(1, 200), elements=st.floats(0, 1e30)), st.floats(0, 1))
def test_a_quantile_is_within_one_percent(values: Any, share: float) -> None:
    sketch = QuantileSketch.of(values)
    exact = float(np.sort(values)[int(share * (len(values) - 1))])
    assert sketch.count == len(values)
    assert abs(sketch.quantile(share) - exact) <= 0.01 * exact
    assert (sketch.minimum, sketch.maximum) == (values.min(), values.max())


@given(st.lists(st.floats(0, 1e30), max_size=50), st.lists(st.floats(0, 1e30), max_size=50))
def test_sketches_add_up(one: list[float], two: list[float]) -> None:
    assert QuantileSketch.of(one).merge(QuantileSketch.of(two)) == QuantileSketch.of(one + two)


@given(st.lists(st.sampled_from([float("nan"), float("inf"), 1.0, 2.0, 0.0]), max_size=20))
def test_a_sketch_leaves_out_what_is_not_finite(values: list[float]) -> None:
    assert QuantileSketch.of(values) == QuantileSketch.of([value for value in values if np.isfinite(value)])


def test_an_empty_sketch_has_no_quantile() -> None:
    assert np.isnan(QuantileSketch().median)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=30), st.integers(1, 40))
def test_repeats_are_counted_as_pairs_with_the_first(rows: list[tuple[int, int]], width: int) -> None:
    ids = np.array([token for token, _ in rows])
    bits = np.repeat(np.array([[row] for _, row in rows], np.uint16), width, axis=1)
    bits[:, -1] += 1
    first: dict[int, int] = {}
    pairs = equal = 0
    for at, token in enumerate(ids.tolist()):
        if token in first:
            pairs += 1
            equal += bool((bits[at] == bits[first[token]]).all())
        first.setdefault(token, at)
    assert count_repeats(StoredPlane("bfloat16", bits), ids) == (pairs, equal)


def test_a_difference_in_the_last_channel_is_a_difference() -> None:
    bits = np.zeros((2, 64), np.uint16)
    bits[1, -1] = 1
    assert count_repeats(StoredPlane("bfloat16", bits), np.array([7, 7])) == (1, 0)


@given(st.lists(DIGESTS, max_size=5))
def test_the_sample_of_rows_is_bounded_and_does_not_depend_on_the_order(
    drawn: list[dict[tuple[int, int], int]],
) -> None:
    forward: dict[tuple[int, int], int] = {}
    backward: dict[tuple[int, int], int] = {}
    for one, two in zip(drawn, reversed(drawn), strict=True):
        forward, backward = merge_digests(forward, one), merge_digests(backward, two)
    assert forward == backward
    tokens = [token for token, _ in forward]
    assert all(tokens.count(token) <= KEPT_POSITIONS for token in tokens)


def test_a_sample_of_rows_keeps_so_many_tokens() -> None:
    many = {(token, 0): token for token in range(KEPT_TOKENS * 3)}
    assert len(merge_digests(many, {})) == KEPT_TOKENS


def test_settling_twice_counts_once() -> None:
    plane = PlaneRecord(row_digests={(1, 0): 5, (1, 3): 5, (1, 4): 6, (2, 0): 5})
    settled = settle_repeats(dataclasses.replace(EMPTY, planes=(plane,)))
    assert (settled.planes[0].repeat_pairs, settled.planes[0].repeat_equal) == (2, 1)
    assert settle_repeats(settled) == settled


@given(st.text(max_size=12), st.text(max_size=12))
def test_names_have_an_order_and_can_be_printed(one: str, two: str) -> None:
    assert (natural_key(one) < natural_key(two)) or (natural_key(two) <= natural_key(one))
    assert printable(one).isprintable()
    printable(one).encode("utf-8")


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 9))
def test_a_sample_of_files_is_in_order_and_spread(count: int, wanted: int, seed: int) -> None:
    chosen = sample_evenly(range(count), wanted, seed)
    assert len(chosen) == min(count, wanted)
    assert chosen == sorted(set(chosen))
    gaps = [second - first for first, second in pairwise(chosen)]
    assert all(gap <= 2 * -(-count // wanted) for gap in gaps)
