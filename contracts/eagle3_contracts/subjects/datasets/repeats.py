"""Repeated tokens: whether rows of one token id are bit-identical, within a sample and across samples.

R[0] is a function of the token id alone, so that all rows of one token are the same bits there; every later
boundary mixes in the context. Across samples only different positions say anything: samples that begin with
the same tokens (a system prompt) have the same rows at every boundary.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord
from eagle3_contracts.subjects.datasets.stored import StoredPlane

KEPT_TOKENS = 256
KEPT_POSITIONS = 4
_CHUNK_ROWS = 256
_GLANCE = 16
_ODD = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1

RowDigests = Mapping[tuple[int, int], int]


def scatter(number: int) -> int:
    """Spread numbers over 64 bits, always in the same way: the order in which tokens and positions are kept."""
    value = (number * _ODD) & _WORD
    return ((value ^ (value >> 29)) * _ODD) & _WORD


def count_repeats(plane: StoredPlane, ids: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Count pairs of a repeated token's row with its first occurrence in the sample, and the bit-identical ones."""
    size = min(len(ids), plane.rows)
    _, first, inverse = np.unique(ids[:size], return_index=True, return_inverse=True)
    origin = first[inverse]
    later = np.flatnonzero(origin != np.arange(size))
    bits = plane.bits[:, :_GLANCE]
    alike = later[(bits[later] == bits[origin[later]]).all(axis=1)]
    equal = 0
    for start in range(0, len(alike), _CHUNK_ROWS):
        rows = alike[start : start + _CHUNK_ROWS]
        equal += int((plane.bits[rows] == plane.bits[origin[rows]]).all(axis=1).sum())
    return len(later), equal


def digest_rows(plane: StoredPlane, ids: npt.NDArray[np.int64]) -> dict[tuple[int, int], int]:
    """Digest the first row of some tokens of a sample, the same tokens for every plane and sample."""
    size = min(len(ids), plane.rows)
    tokens, first = np.unique(ids[:size], return_index=True)
    places = {int(token): int(position) for token, position in zip(tokens, first, strict=True)}
    kept = sorted(places, key=lambda token: (scatter(token), token))[:KEPT_TOKENS]
    return {(token, places[token]): _digest(plane.bits[places[token]]) for token in kept}


def merge_digests(first: RowDigests, second: RowDigests) -> dict[tuple[int, int], int]:
    """Join two bounded samples of rows; which rows stay depends on their tokens and positions alone.

    Of two rows at one position the smaller digest stays: any rule that does not depend on the order of merging
    will do, since equal rows have equal digests.
    """
    positions: dict[int, dict[int, int]] = defaultdict(dict)
    for digests in (first, second):
        for (token, position), digest in digests.items():
            held = positions[token]
            held[position] = min(digest, held.get(position, digest))
    tokens = sorted(positions, key=lambda token: (scatter(token), token))[:KEPT_TOKENS]
    return {
        (token, position): positions[token][position]
        for token in tokens
        for position in sorted(positions[token], key=lambda place: (scatter(place), place))[:KEPT_POSITIONS]
    }


def settle_repeats(evidence: DatasetEvidence) -> DatasetEvidence:
    """Count the pairs across samples into each plane's repeats, once all records are merged."""
    return dataclasses.replace(evidence, planes=tuple(_settle_plane(plane) for plane in evidence.planes))


def _settle_plane(plane: PlaneRecord) -> PlaneRecord:
    digests: dict[int, list[int]] = defaultdict(list)
    for (token, _), digest in plane.row_digests.items():
        digests[token].append(digest)
    pairs = sum(len(found) - 1 for found in digests.values())
    equal = sum(len(found) - len(set(found)) for found in digests.values())
    return dataclasses.replace(
        plane,
        repeat_pairs=plane.repeat_pairs + pairs,
        repeat_equal=plane.repeat_equal + equal,
        row_digests={},
    )


def _digest(row: npt.NDArray[np.generic]) -> int:
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=8).digest(), "little")
