"""Each function of ``numerics`` on small arrays whose answers can be written down."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagle3_contracts.numerics import (
    SINK_FACTOR,
    QuantileSketch,
    bfloat16_to_float32,
    float32_to_bfloat16,
    log_softmax,
    relative_l2,
    sink_rows,
)


def single(*values: object) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=np.float32)


def test_relative_l2_is_the_distance_over_the_references_length_per_row() -> None:
    reference = single([3, 4], [0, 2], [0, 0], [0, 0], [3, 4])
    observed = single([3, 4], [2, 2], [1, 0], [0, 0], [0, 0])
    assert relative_l2(observed, reference).tolist() == [0, 1, math.inf, 0, 1]
    stacked = relative_l2(np.stack([observed, reference]), np.stack([reference, reference]))
    assert stacked.tolist() == [[0, 1, math.inf, 0, 1], [0, 0, 0, 0, 0]]


def test_relative_l2_is_computed_in_float64() -> None:
    huge = single([3e38, 3e38])
    assert relative_l2(-huge, huge).tolist() == pytest.approx([2])
    tiny = single([1e-30, 0])
    assert relative_l2(3 * tiny, tiny).tolist() == pytest.approx([2])
    assert relative_l2(huge, huge).dtype == np.float64


def test_relative_l2_of_what_is_no_number_is_none() -> None:
    found = relative_l2(single([math.nan, 0], [math.inf, 0], [1, 0]), single([1, 0], [1, 0], [math.nan, 0]))
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == math.inf


def test_a_sink_exceeds_the_factor_times_the_median_at_one_boundary_at_least() -> None:
    rows = np.ones((3, 5, 1), dtype=np.float32)
    rows[0, 1] = SINK_FACTOR
    rows[1, 2] = -SINK_FACTOR * 1.01
    rows[2, 3] = 100
    assert sink_rows(rows).tolist() == [False, False, True, True, False]
    assert sink_rows(rows[:1]).tolist() == [False] * 5


def test_the_median_is_that_of_the_same_boundary_and_the_norm_that_of_the_row() -> None:
    rows = np.ones((2, 5, 4), dtype=np.float32)
    rows[1] *= 1000
    assert not sink_rows(rows).any()
    rows[0, 4] = (0, 0, 0, 8.1)
    assert sink_rows(rows).tolist() == [False] * 4 + [True], "four ones have norm 2, four times that is 8"
    rows[0, 4] = (0, 0, 0, 7.9)
    assert not sink_rows(rows).any()
    rows[0] = 3e38
    assert not sink_rows(rows).any(), "float32 would overflow"


def test_log_softmax_is_exact_over_the_last_axis() -> None:
    logits = single([math.log(1), math.log(3)], [1000, 1000], [-3e38, 0])
    expected = [[math.log(0.25), math.log(0.75)], [math.log(0.5)] * 2, [-math.inf, 0]]
    found = log_softmax(logits)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-6)
    np.testing.assert_allclose(found[2], [-3e38, 0], rtol=1e-6)
    np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_array_equal(log_softmax(logits[None]), found[None])


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (-0.0, 0x8000),
        (math.inf, 0x7F80),
        (-math.inf, 0xFF80),
        (1 + 2**-8, 0x3F80),
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-20, 0x3F81),
        (1 + 2**-8 - 2**-20, 0x3F80),
        (3.4e38, 0x7F80),
        (2.0**-133, 0x0001),
    ],
)
def test_rounding_to_bfloat16_is_half_to_even(value: float, bits: int) -> None:
    found = float32_to_bfloat16(single(value))
    assert found.dtype == np.uint16
    assert found.tolist() == [bits]


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0xFF800001, 0x7FFF8000])
def test_a_nan_stays_one_with_its_sign(bits: int) -> None:
    nan = np.array([bits], dtype=np.uint32).view(np.float32)
    narrowed = float32_to_bfloat16(nan)
    assert np.isnan(bfloat16_to_float32(narrowed)).all()
    assert narrowed[0] == (bits >> 16) | 0x40, "sign and payload are kept, and the quiet bit is set"


def test_arrays_of_any_order_in_memory_are_rounded() -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)
    narrowed = float32_to_bfloat16(values)
    np.testing.assert_array_equal(bfloat16_to_float32(narrowed), values)
    np.testing.assert_array_equal(float32_to_bfloat16(values[::2, ::-1]), narrowed[::2, ::-1])
    assert bfloat16_to_float32(narrowed).dtype == np.float32


def test_what_is_stored_wider_is_rounded_to_float32_first() -> None:
    assert float32_to_bfloat16(np.array([1.0, -2.5])).tolist() == [0x3F80, 0xC020]


def test_widening_puts_the_pattern_into_the_upper_half() -> None:
    wide = bfloat16_to_float32(np.array([0x3FC0, 0x8000, 0xFFC1], dtype=np.uint16))
    assert wide.view(np.uint32).tolist() == [0x3FC00000, 0x80000000, 0xFFC10000]


def test_a_sketch_keeps_zeros_apart_and_the_ends_exact() -> None:
    sketch = QuantileSketch.of([[0.0, 3.0], [0.0, 0.5]])
    assert (sketch.count, sketch.zeros, sketch.minimum, sketch.maximum) == (4, 2, 0, 3)
    assert sum(sketch.buckets.values()) == 2
    assert [sketch.quantile(share) for share in (0, 0.34, 0.6, 1)] == [0, pytest.approx(0, abs=0), 0, 3]
    assert sketch.quantile(0.7) == pytest.approx(0.5, rel=0.01)
    assert sketch.median == 0


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([1, 2, 4, 8], 0, 1),
        ([1, 2, 4, 8], 0.3, 1),
        ([1, 2, 4, 8], 0.34, 2),
        ([1, 2, 4, 8], 0.5, 2),
        ([1, 2, 4, 8], 0.67, 4),
        ([1, 2, 4, 8], 0.99, 4),
        ([1, 2, 4, 8], 1, 8),
        ([8, 1, 4, 2, 16], 0.5, 4),
        ([2, 2, 2, 2], 0.9, 2),
        ([0, 0, 0, 5], 0.5, 0),
        ([0, 5], 0.99, 0),
        ([0, 5], 1, 5),
        ([1e-300, 1e300], 1, 1e300),
        ([1e-300, 1e300], 0, 1e-300),
    ],
)
def test_a_quantile_is_the_value_at_the_rank_below(values: list[float], share: float, expected: float) -> None:
    assert QuantileSketch.of(values).quantile(share) == pytest.approx(expected, rel=0.01, abs=0)


def test_a_quantile_never_leaves_the_values_sketched() -> None:
    for value in (1.0, 1.019, 0.981, 7.3):
        sketch = QuantileSketch.of([value])
        assert sketch.quantile(0) == sketch.median == sketch.quantile(1) == value


def test_a_bucket_is_off_by_one_hundredth_at_most_at_both_of_its_ends() -> None:
    steps = 1.02 ** np.arange(-300, 300) * (1 + 1e-9)
    for ends in (steps, steps * (1.02 - 1e-8)):
        for value in ends[::25]:
            sketch = QuantileSketch.of([value / 100, value, value * 100])
            assert abs(sketch.median / value - 1) < 0.01


def test_sketches_add_up_bucket_by_bucket() -> None:
    one, two = QuantileSketch.of([0, 1, 2]), QuantileSketch.of([0, 0, 2, 4, math.nan, math.inf])
    both = one.merge(two)
    assert both == QuantileSketch.of([0, 1, 2, 0, 0, 2, 4])
    assert (both.count, both.zeros, both.minimum, both.maximum) == (7, 3, 0, 4)
    assert both == two.merge(one)
    assert one == QuantileSketch.of([0, 1, 2]), "merging changed what was merged"
    assert one.merge(QuantileSketch()) == one


def test_a_sketch_of_nothing_finite_is_empty() -> None:
    for values in ([], [math.nan, math.inf, -math.inf]):
        sketch = QuantileSketch.of(values)
        assert sketch == QuantileSketch()
        assert sketch.count == 0
        assert math.isnan(sketch.quantile(0))
        assert (sketch.minimum, sketch.maximum) == (math.inf, 0)
