"""Evidence of a sound capture and a sound dataset of the toy target, to be changed in one place at a time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.evidence import (
    CapturedRequest,
    CaptureEvidence,
    DatasetEvidence,
    PlaneRecord,
    Signature,
    Tally,
)
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch
from support.judging.comparisons import compare
from support.judging.documents import HIDDEN

LENGTHS = (17, 33, 58)


def captured(length: int = 17, planes: int = 4, **changes: Any) -> CapturedRequest:
    """Give a sound answer to a request of ``length`` tokens."""
    draw = np.random.default_rng(length)
    values = draw.normal(size=(planes, length, HIDDEN)).astype(np.float32)
    ids = tuple(int(item) for item in draw.integers(0, 64, length))
    shapes = ((length, HIDDEN),) * planes
    return dataclasses.replace(CapturedRequest(ids, ids, values, "bfloat16", shapes), **changes)


def sound_capture(**changes: Any) -> CaptureEvidence:
    """Give the evidence of a capture in which nothing is wrong."""
    alone = tuple(captured(length) for length in LENGTHS)
    evidence = CaptureEvidence(
        "toy.py:capture",
        alone=alone,
        batched=alone,
        repeated=alone,
        held=alone[0].planes,
        held_shapes=alone[0].shapes,
        compute_dtype="bfloat16",
        comparison=compare(),
    )
    return dataclasses.replace(evidence, **changes)


def touched(request: CapturedRequest, plane: int, row: int, factor: float) -> CapturedRequest:
    """Give an answer with one row scaled."""
    planes = request.planes.copy()
    planes[plane, row] *= factor
    return dataclasses.replace(request, planes=planes)


def signature(**changes: Any) -> Signature:
    """Give the signature of a sound sample."""
    tensors = (("hidden_states", "bfloat16 [T, 4, 8]"), ("token_ids", "int64 [T]"))
    return dataclasses.replace(Signature(4, (HIDDEN,) * 4, ("bfloat16",) * 4, 0, 0, tensors), **changes)


def plane_record(norm: float = 3.0, **changes: Any) -> PlaneRecord:
    """Give the statistics of a sound plane of 6,292 rows."""
    record = PlaneRecord(rows=6292, norms=QuantileSketch.of([norm] * 10), repeat_pairs=812, repeat_equal=0)
    return dataclasses.replace(record, **changes)


def seen(*files: str, count: int | None = None, plane: str | None = None, token: int | None = None) -> Tally:
    """Give a tally with its first places."""
    places = tuple(Where(file=name, plane=plane, token=token) for name in files)
    return Tally(len(files) if count is None else count, places)


def sound_dataset(**changes: Any) -> DatasetEvidence:
    """Give the evidence of a dataset in which nothing is wrong: 64 files, one sample each."""
    evidence = DatasetEvidence(
        "states",
        format="speculators-arrow",
        files_found=64,
        files_read=64,
        samples=64,
        signatures={signature(): seen("hs_0.safetensors", count=64)},
        planes=tuple(plane_record() for _ in range(4)),
        token_maximum=61,
        token_maximum_where=Where(file="hs_9.safetensors", token=5),
        token_digests={str(number): seen(f"hs_{number}.safetensors") for number in range(64)},
        state_digests={str(number): seen(f"hs_{number}.safetensors") for number in range(64)},
        comparison=compare(),
        recaptured=4,
    )
    return dataclasses.replace(evidence, **changes)
