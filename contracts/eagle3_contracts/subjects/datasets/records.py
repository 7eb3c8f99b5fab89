"""One sample turned into a small record of evidence; records of many samples add up (``merging``)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract.stamp import digest_ids
from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord, Problem, Signature, Tally
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch
from eagle3_contracts.subjects.datasets.plane_records import KEPT_PLACES, read_plane
from eagle3_contracts.subjects.datasets.stored import Sample, StoredPlane, UnreadableError, read_integers


def sign_sample(sample: Sample) -> Signature:
    """Give the shape of a sample as its headers tell it."""
    length = _length(sample)
    mask = sample.mask.bits.size if sample.mask is not None else None
    return Signature(
        planes=len(sample.planes),
        widths=tuple(plane.width for plane in sample.planes),
        dtypes=tuple(plane.dtype for plane in sample.planes),
        row_surplus=_row_surplus(sample.planes, length) if length is not None else None,
        mask_surplus=mask - length if mask is not None and length is not None else None,
        tensors=sample.tensors,
    )


def record_headers(subject: str, sample: Sample) -> DatasetEvidence:
    """Make the record of a sample from its headers; no tensor data is read."""
    place = Where(file=sample.place)
    length = _length(sample)
    rows = length if length is not None else max((plane.rows for plane in sample.planes), default=0)
    problems = list(sample.problems)
    if rows == 0:
        problems.append(Problem("empty", "a sample without tokens", "remove it, or capture it again", place))
    for name, tensor in (("token ids", sample.token_ids), ("mask entries", sample.mask)):
        if tensor is not None and tensor.bits.ndim != 1:
            reason = f"{name} have shape {list(tensor.shape)}, expected one axis, which is what its loader takes"
            problems.append(Problem("corrupt", reason, "store one sequence in a sample, without a batch axis", place))
    return DatasetEvidence(
        subject,
        samples=1,
        signatures={sign_sample(sample): Tally(1, (place,))},
        planes=tuple(PlaneRecord() for _ in sample.planes),
        lengths=QuantileSketch.of([rows]),
        problems=tuple(problems),
        notes=sample.notes,
        declared=sample.declared,
    )


def record_data(subject: str, sample: Sample, names: Sequence[str]) -> DatasetEvidence:
    """Make the record of a sample from its headers and all of its data. ``names``: of its planes, in disk order."""
    facts: dict[str, Any] = {}
    problems: list[Problem] = []
    ids: npt.NDArray[np.int64] | None = None
    if sample.token_ids is not None and sample.token_ids.bits.ndim == 1:
        try:
            ids = read_integers(sample.token_ids, "the token ids", Where(file=sample.place))
            facts |= _token_facts(ids, sample.place)
        except UnreadableError as error:
            problems.append(error.problem)
    if sample.mask is not None:
        facts |= _mask_facts(np.asarray(sample.mask.bits).ravel(), sample.place)
    read = [read_plane(plane, ids, sample.place, name) for plane, name in zip(sample.planes, names, strict=True)]
    digests = [digest for _, digest in read]
    place = Tally(1, (Where(file=sample.place),))
    pairs = [pair for pair in combinations(range(len(digests)), 2) if digests[pair[0]] == digests[pair[1]]]
    headers = record_headers(subject, sample)
    return DatasetEvidence(
        subject,
        samples=1,
        signatures=headers.signatures,
        planes=tuple(record for record, _ in read),
        identical_planes={
            pair: Tally(1, (Where(file=sample.place, plane=names[pair[1]]),)) for pair in pairs if sample.planes[0].rows
        },
        state_digests={_join(digests): place} if digests else {},
        lengths=headers.lengths,
        problems=(*headers.problems, *problems),
        notes=headers.notes,
        declared=headers.declared,
        **facts,
    )


def name_planes(declared: Sequence[str], count: int) -> tuple[str, ...]:
    """Name the planes of a sample: as the contract does if it stores as many, else by their position."""
    return tuple(declared) if len(declared) == count else tuple(str(index) for index in range(count))


def _token_facts(ids: npt.NDArray[np.int64], place: str) -> dict[str, Any]:
    below = np.flatnonzero(ids < 0)
    facts: dict[str, Any] = {
        "tokens_below_zero": Tally(
            len(below), tuple(Where(file=place, token=int(token)) for token in below[:KEPT_PLACES])
        ),
        "token_digests": {digest_ids(ids.tobytes()): Tally(1, (Where(file=place),))},
    }
    if ids.size:
        highest = int(ids.argmax())
        facts["token_maximum"] = int(ids[highest])
        facts["token_maximum_where"] = Where(file=place, token=highest)
    return facts


def _mask_facts(mask: npt.NDArray[Any], place: str) -> dict[str, Any]:
    ones, zeros = mask == 1, mask == 0
    other = np.flatnonzero(~(ones | zeros))
    whole = Tally(1, (Where(file=place),))
    return {
        "mask_other": Tally(len(other), tuple(Where(file=place, token=int(token)) for token in other[:KEPT_PLACES])),
        "mask_all_zero": whole if mask.size and zeros.all() else Tally(),
        "mask_all_one": whole if mask.size and ones.all() else Tally(),
    }


def _length(sample: Sample) -> int | None:
    """Give the number of token ids; None where the file has none to count."""
    tokens = sample.token_ids
    return tokens.shape[0] if tokens is not None and tokens.bits.ndim == 1 else None


def _row_surplus(planes: Sequence[StoredPlane], length: int) -> int:
    """Give rows minus token ids, of the plane that is furthest off."""
    return max((plane.rows - length for plane in planes), key=abs, default=0)


def _join(digests: Sequence[str]) -> str:
    return hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()
