"""Samples whose every row says in bits which sample, plane and position it is.

The bits stand as +1 and -1 over the hidden channels, again and again until the width is filled: exact in float32,
float16, bfloat16 and float8, and read by their sign, so that noise added in training does no harm. Numbers of the
kind 1000 * plane + position would be rounded away by bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import BAD, NOT_FINITE, STRANGE, ZEROS, Array, Codes, Sentinel

FIELDS = (("sample", 4), ("plane", 4), ("position", 12))
"""What is coded, and in how many bits each."""

_MARKER = 0b10
_CHECK_BITS = 10
_MIX = 2_654_435_761
"""Knuth's multiplier: codes that differ in one bit differ in many of the check sum's."""

BITS = 2 + sum(width for _, width in FIELDS) + _CHECK_BITS
"""Channels that one code takes: a marker, the three numbers, and a check sum."""

LENGTHS = (13, 9, 17, 6)
"""Token ids per sample: different, so that a row lost in one shows in the next."""

LONGEST = 2 ** dict(FIELDS)["position"]

_MASK = (1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0)
"""A maximal-length sequence: it agrees with itself shifted at about half of its places only, whatever the shift."""


def make_sentinels(lengths: Sequence[int], vocab_size: int) -> tuple[Sentinel, ...]:
    """Give samples of counting token ids, no id twice while the vocabulary lasts, and masks with many edges.

    Ids start at 1/16 of the vocabulary, since special tokens, and the zeros of padding, stand at its beginning. Masks
    begin and end with a one in some samples, and with a zero in others; of the one that is spoiled all rows count.
    """
    first = vocab_size // 16 + 1
    span = vocab_size - first
    samples, start = [], 0
    for number, length in enumerate(lengths):
        tokens = tuple(first + (start + step) % span for step in range(length))
        mask = tuple(int(number == BAD or _MASK[(step + 4 * number) % len(_MASK)]) for step in range(length))
        samples.append(Sentinel(tokens, (*mask[:-1], int(number % 2 == 0))))
        start += length
    return tuple(samples)


def encode_planes(sample: int, planes: int, length: int, hidden: int) -> Array:
    """Give the planes [P, T, H] of one sample."""
    plane, position = np.meshgrid(np.arange(planes), np.arange(length), indexing="ij")
    word = _pack({"sample": np.full_like(plane, sample), "plane": plane, "position": position})
    bits = (word[..., None] >> np.arange(BITS)) & 1
    signs = np.where(bits == 1, 1.0, -1.0).astype(np.float32)
    repeats = -(-hidden // BITS)
    return np.ascontiguousarray(np.tile(signs, repeats)[..., :hidden])


def decode_rows(rows: Array) -> tuple[Codes, Codes, Codes]:
    """Read sample, plane and position of rows [..., H]; a row that is no code gives one negative number thrice."""
    hidden = rows.shape[-1]
    finite = np.isfinite(rows).all(axis=-1)
    signs = np.sign(np.where(np.isfinite(rows), rows, 0.0))
    votes = np.stack([signs[..., bit::BITS].sum(axis=-1) for bit in range(BITS)], axis=-1)
    counts = np.array([len(range(bit, hidden, BITS)) for bit in range(BITS)])
    word = ((votes > 0).astype(np.int64) << np.arange(BITS)).sum(axis=-1)
    numbers = _unpack(word)
    sound = (np.abs(votes) == counts).all(axis=-1) & (_pack(numbers) == word)
    empty = (rows == 0).all(axis=-1)
    fault = np.where(~finite, NOT_FINITE, np.where(empty, ZEROS, STRANGE))
    sample, plane, position = (np.where(sound & finite, numbers[name], fault) for name, _ in FIELDS)
    return sample, plane, position


def _pack(numbers: dict[str, Codes]) -> Codes:
    """Join the numbers into one word with marker and check sum."""
    word: Codes = np.zeros_like(numbers["sample"], dtype=np.int64)
    shift = 0
    for name, width in FIELDS:
        word = word | (numbers[name].astype(np.int64) << shift)
        shift += width
    check: npt.NDArray[np.int64] = (word * _MIX >> 13) % (1 << _CHECK_BITS)
    return (word << (2 + _CHECK_BITS)) | (check << 2) | _MARKER


def _unpack(word: Codes) -> dict[str, Codes]:
    body, shift, numbers = word >> (2 + _CHECK_BITS), 0, {}
    for name, width in FIELDS:
        numbers[name] = (body >> shift) & ((1 << width) - 1)
        shift += width
    return numbers
