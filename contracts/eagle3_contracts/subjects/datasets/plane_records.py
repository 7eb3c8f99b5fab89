"""One plane of one sample, read once: norms, rows that are not finite or all zero, repeats, a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import PlaneRecord, Tally
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch
from eagle3_contracts.subjects.datasets.repeats import count_repeats, digest_rows
from eagle3_contracts.subjects.datasets.stored import StoredPlane

_CHUNK = 1 << 20
"""Elements widened at a time: 8 MB as float64, whatever the file's size."""

KEPT_PLACES = 5


def read_plane(plane: StoredPlane, ids: npt.NDArray[np.int64] | None, place: str, name: str) -> tuple[PlaneRecord, str]:
    """Read a plane once; give its record, and a digest that is equal for bit-identical planes.

    Repeats are not counted for scaled states: hs-connectors' factor of a token covers all its planes, so that
    equal rows need not stay equal.
    """
    norms = np.empty(plane.rows, dtype=np.float64)
    finite = np.ones(plane.rows, dtype=bool)
    digest = hashlib.blake2b(f"{plane.dtype} {plane.bits.shape}".encode(), digest_size=16)
    for start, stop in _chunks(plane):
        digest.update(np.ascontiguousarray(plane.bits[start:stop]).tobytes())
        with np.errstate(over="ignore", invalid="ignore"):
            values = plane.read_rows(start, stop).astype(np.float64, copy=False)
            squares = np.einsum("th,th->t", values, values)
        finite[start:stop] = np.isfinite(squares) | np.isfinite(values).all(axis=1)
        norms[start:stop] = np.sqrt(squares)
    if plane.scales is not None:
        digest.update(plane.scales.tobytes())
    counted = ids is not None and plane.scales is None
    pairs, equal = count_repeats(plane, ids) if ids is not None and counted else (0, 0)
    record = PlaneRecord(
        rows=plane.rows,
        nonfinite=_tally(~finite, place, name),
        zero=_tally(finite & (norms == 0), place, name),
        norms=QuantileSketch.of(norms[finite]),
        repeat_pairs=pairs,
        repeat_equal=equal,
        row_digests=digest_rows(plane, ids) if ids is not None and counted else {},
    )
    return record, digest.hexdigest()


def _chunks(plane: StoredPlane) -> Iterator[tuple[int, int]]:
    step = max(1, _CHUNK // max(1, plane.width))
    for start in range(0, plane.rows, step):
        yield start, min(start + step, plane.rows)


def _tally(marked: npt.NDArray[np.bool_], place: str, name: str) -> Tally:
    rows = np.flatnonzero(marked)
    return Tally(len(rows), tuple(Where(file=place, plane=name, token=int(row)) for row in rows[:KEPT_PLACES]))
