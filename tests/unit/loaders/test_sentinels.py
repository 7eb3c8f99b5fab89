"""What a row says of itself survives every dtype, noise and width, and nothing else is taken for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.evidence import NOT_FINITE, STRANGE, ZEROS
from eagle3_contracts.subjects.loaders.sentinels import (
    BITS,
    LENGTHS,
    LONGEST,
    decode_rows,
    encode_planes,
    make_sentinels,
)

DTYPES = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


@given(
    sample=st.integers(0, 15),
    planes=st.integers(1, 9),
    length=st.integers(1, 40),
    hidden=st.integers(BITS, 200),
    dtype=st.sampled_from(DTYPES),
)
def test_every_row_is_read_as_it_was_written(sample: int, planes: int, length: int, hidden: int, dtype: str) -> None:
    written = torch.from_numpy(encode_planes(sample, planes, length, hidden)).to(getattr(torch, dtype))
    found = decode_rows(written.float().numpy())
    plane, position = np.meshgrid(np.arange(planes), np.arange(length), indexing="ij")
    assert np.array_equal(found[0], np.full((planes, length), sample))
    assert np.array_equal(found[1], plane)
    assert np.array_equal(found[2], position)


def test_the_last_position_is_read_too() -> None:
    written = encode_planes(3, 1, LONGEST, 32)
    assert np.array_equal(decode_rows(written)[2][0], np.arange(LONGEST))


@given(st.integers(0, 10_000))
def test_noise_that_training_adds_changes_nothing(seed: int) -> None:
    written = encode_planes(2, 3, 9, 64)
    noise = np.random.default_rng(seed).uniform(-0.5, 0.5, written.shape).astype(np.float32)
    assert np.array_equal(decode_rows(written + noise)[2], decode_rows(written)[2])


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda rows: rows * 0, ZEROS),
        (lambda rows: np.where(np.arange(rows.shape[-1]) == 5, np.nan, rows), NOT_FINITE),
        (lambda rows: np.where(np.arange(rows.shape[-1]) == 5, np.inf, rows), NOT_FINITE),
        (lambda rows: rows[..., ::-1].copy(), STRANGE),
        (lambda rows: -rows, STRANGE),
        (lambda rows: np.roll(rows, 1, axis=-1), STRANGE),
        (lambda rows: (rows + np.roll(rows, 1, axis=0)) / 2, STRANGE),
        (lambda rows: np.concatenate([rows[..., :32], np.roll(rows, 1, axis=1)[..., 32:]], axis=-1), STRANGE),
    ],
    ids=["zeros", "nan", "inf", "reversed", "negated", "rotated", "mean of two planes", "two rows in one"],
)
def test_what_is_no_stored_row_is_not_taken_for_one(spoil: object, told: int) -> None:
    rows = encode_planes(1, 4, 7, 64)
    found = decode_rows(spoil(rows))  # type: ignore[operator]
    assert all(set(np.unique(codes)) == {told} for codes in found)


def test_token_ids_count_on_and_no_two_samples_share_one() -> None:
    samples = make_sentinels(LENGTHS, 256)
    tokens = [token for sample in samples for token in sample.tokens]
    assert tokens == list(range(tokens[0], tokens[0] + sum(LENGTHS)))
    assert tokens[0] > 0, "0 is what padding holds"


def test_a_small_vocabulary_is_never_left() -> None:
    samples = make_sentinels((13, 2000, 6), 64)
    assert {token for sample in samples for token in sample.tokens} <= set(range(1, 64))


def test_masks_tell_every_shift_from_every_other() -> None:
    samples = make_sentinels(LENGTHS, 256)
    for by in (-3, -2, -1, 1, 2, 3):
        differ = sum(
            one != sample.mask[at + by]
            for sample in samples
            for at, one in enumerate(sample.mask)
            if 0 <= at + by < sample.length
        )
        assert differ >= 8
    assert {sample.mask[0] for sample in samples} == {sample.mask[-1] for sample in samples} == {0, 1}
