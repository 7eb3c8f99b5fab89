"""What the clauses on a capture's answers, rows and memory must say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence, Problem, TargetComparison
from eagle3_contracts.findings import Rung, Where
from support.judging.cases import Case, capture_case
from support.judging.comparisons import DECLARED, compare
from support.judging.documents import HIDDEN, toy_contract
from support.judging.evidence import LENGTHS, captured, sound_capture, touched

CRASH = Problem(
    "crashed",
    "on a request of 17 tokens, alone, the capture raised AttributeError: no set_eagle3_layers_to_capture",
    "run the capture on this request by itself and mend what it raises",
)
CRASHED = sound_capture(
    alone=(), batched=(), repeated=(), held=None, held_shapes=(), comparison=None, problems=(CRASH,)
)
_PLACED = dataclasses.replace(CRASH, where=Where(file="capture.py", line=7))
_RAGGED = Problem(
    "ragged", "planes of one request differ in shape: [17, 8], [16, 8]", "capture every plane for all tokens"
)
_NO_BATCH = "the capture takes one sequence and returns planes alone: batches and token ids cannot be checked"
SINGLE = sound_capture(form="single", batched=(), notes=(_NO_BATCH,))
_NOTED = sound_capture(form="single", batched=(), notes=("no ids come back", "nor batches"))
NOT_RUN = sound_capture(alone=(), batched=(), repeated=(), held=None, held_shapes=(), comparison=None)


def ragged(*shapes: tuple[int, ...]) -> CaptureEvidence:
    """Give the evidence of a first answer whose planes do not stack."""
    first = dataclasses.replace(captured(), planes=np.zeros((0, 0, 0), np.float32), shapes=shapes)
    return sound_capture(alone=(first,), batched=(), repeated=(), held=None, comparison=None, problems=(_RAGGED,))


def first_answer(**changes: Any) -> CaptureEvidence:
    """Give evidence whose first answer is another than it should be."""
    alone = (captured(17, **changes), captured(33), captured(58))
    return sound_capture(alone=alone)


def widths(*widths: int) -> CaptureEvidence:
    """Give evidence whose first answer has planes of these widths."""
    return first_answer(shapes=tuple((17, width) for width in widths))


def all_planes(width: int) -> tuple[CapturedRequest, ...]:
    """Give answers of another width."""
    return tuple(captured(length, shapes=((length, width),) * 4) for length in LENGTHS)


def values(change: Any) -> CaptureEvidence:
    """Give evidence whose second answer has changed values."""
    second = captured(33)
    planes = second.planes.copy()
    change(planes)
    return sound_capture(alone=(captured(17), dataclasses.replace(second, planes=planes), captured(58)))


def _nan(planes: Any) -> None:
    planes[1, 4:7] = np.nan
    planes[3, 30] = np.inf


def _zeros(planes: Any) -> None:
    planes[2, 20:] = 0


def _loud(planes: Any) -> None:
    planes *= 50


def _louder(planes: Any) -> None:
    planes[1] *= 1.04


ANSWERS: tuple[Case, ...] = (
    capture_case("runs", "answers", "must passed"),
    capture_case("runs", "answers one sequence at a time", "must passed", SINGLE),
    capture_case("runs", "answers once each", "must passed", sound_capture(repeated=(), notes=("one note", "two"))),
    capture_case("runs", "planes do not stack", "must passed", ragged((17, 8), (16, 8))),
    capture_case("runs", "raises", "must failed", CRASHED),
    capture_case("runs", "keeps a batch dimension", "must failed", ragged((1, 17, 8), (1, 17, 8))),
    capture_case("runs", "raises twice, at a place", "must failed", sound_capture(alone=(), problems=(_PLACED, CRASH))),
    capture_case("runs", "was not run", "must errored", NOT_RUN),
    capture_case(
        "runs",
        "needs a package",
        "must errored",
        sound_capture(alone=(), problems=(Problem("needs", "running it needs torch", "pip install torch"),)),
    ),
    capture_case("plane-count", "as declared", "must passed"),
    capture_case("plane-count", "one id never reached", "must failed", sound_capture(alone=(captured(planes=3),))),
    capture_case("plane-count", "raises", "must errored", CRASHED),
    capture_case("width", "as declared", "must passed"),
    capture_case("width", "the drafter's width", "must failed", sound_capture(alone=all_planes(6))),
    capture_case("width", "planes side by side", "must failed", sound_capture(alone=all_planes(3 * HIDDEN))),
    capture_case("width", "one plane of another width", "must failed", widths(8, 8, 12, 8)),
    capture_case("width", "one plane as wide as two", "must failed", widths(8, 8, 16, 8)),
    capture_case("width", "planes without width", "must failed", first_answer(shapes=((),) * 4)),
    capture_case("width", "another dimension first", "must failed", first_answer(shapes=((1, 17, 12),) * 4)),
    capture_case("width", "raises", "must errored", CRASHED),
    capture_case("rows", "one per token", "must passed"),
    capture_case("rows", "one plane a row short", "must failed", ragged((17, 8), (16, 8), (17, 8), (17, 8))),
    capture_case("rows", "last chunk alone", "must failed", first_answer(shapes=((5, 8),) * 4)),
    capture_case("rows", "planes without rows", "must failed", first_answer(shapes=((17,),) * 4)),
    capture_case("rows", "raises", "must errored", CRASHED),
    capture_case("token-ids", "as given", "must passed"),
    capture_case("token-ids", "another id", "must failed", first_answer(token_ids=(63, *captured().given[1:]))),
    capture_case("token-ids", "truncated", "must failed", first_answer(token_ids=captured().given[:-2])),
    capture_case("token-ids", "planes alone", "must skipped", SINGLE),
    capture_case("token-ids", "planes alone, noted twice", "must skipped", _NOTED),
    capture_case("token-ids", "planes alone, not noted", "must skipped", sound_capture(form="single")),
    capture_case("token-ids", "raises", "must errored", CRASHED),
    capture_case("dtype", "as declared", "must passed"),
    capture_case("dtype", "silent cast", "must failed", first_answer(dtype="float16")),
    capture_case("dtype", "last hidden in another", "must failed", first_answer(dtype="bfloat16/float32")),
    capture_case("dtype", "raises", "must errored", CRASHED),
)

ROWS: tuple[Case, ...] = (
    capture_case("finite", "finite", "must passed"),
    capture_case("finite", "NaN and infinity", "must failed, must failed", values(_nan)),
    capture_case("finite", "planes do not stack", "must errored", ragged((17, 8), (16, 8))),
    capture_case("finite", "raises", "must errored", CRASHED),
    capture_case("zero-rows", "written", "must passed"),
    capture_case("zero-rows", "slots never written", "must failed", values(_zeros)),
    capture_case("zero-rows", "raises", "must errored", CRASHED),
    capture_case("norm-range", "inside", "should passed"),
    capture_case("norm-range", "scaled", "should failed", sound_capture(alone=values(_loud).alone[1:2])),
    capture_case("norm-range", "none declared", "should skipped", None, toy_contract("low", "high")),
    capture_case("norm-range", "planes missing", "should errored", sound_capture(alone=(captured(planes=3),))),
    capture_case("norm-range", "raises", "should errored", CRASHED),
)

_ONE_BUFFER = dataclasses.replace(captured(), planes=captured().planes[[0, 3, 3, 3]])
_ZEROS = dataclasses.replace(captured(), planes=np.zeros_like(captured().planes))


def held(change: Any) -> CaptureEvidence:
    """Give evidence whose first answer reads otherwise after all other requests."""
    planes = captured().planes.copy()
    change(planes)
    return sound_capture(held=planes)


def _gone(planes: Any) -> None:
    planes[0, 3] = np.nan


def _every(planes: Any) -> None:
    planes += 1


def halfway(*places: tuple[int, float], comparison: Any = None, **changes: Any) -> CaptureEvidence:
    """Give evidence in which planes are so far from the stream halfway through layers."""
    return sound_capture(halfway=places, comparison=comparison or compare(_BETWEEN), **changes)


_BETWEEN = tuple(dataclasses.replace(plane, distance=0.09, rival=0.3) for plane in DECLARED)
_STACKED = ragged((17, 8), (16, 8))
_RAGGED_HELD = dataclasses.replace(_STACKED, held_shapes=_STACKED.alone[0].shapes)
_FLOAT16 = {"compute_dtype": "float16", "alone": tuple(captured(length, dtype="float16") for length in LENGTHS)}
_AFAR = (5, 1.2)
_HEAD = TargetComparison(Rung.HEAD, 100)

MEMORY: tuple[Case, ...] = (
    capture_case("aliasing", "own memory", "must passed"),
    capture_case(
        "aliasing",
        "one buffer for all requests",
        "must failed",
        sound_capture(held=touched(captured(), 2, 5, 3.0).planes),
    ),
    capture_case("aliasing", "planes overlap", "must failed", sound_capture(overlaps=((0, 1),))),
    capture_case(
        "aliasing",
        "one buffer copied at the end",
        "must failed",
        sound_capture(alone=(_ONE_BUFFER, captured(33), captured(58)), held=_ONE_BUFFER.planes),
    ),
    capture_case(
        "aliasing", "one list for all calls", "must failed", sound_capture(held=None, held_shapes=((17, 8),) * 12)
    ),
    capture_case("aliasing", "planes of zeros", "must passed", sound_capture(alone=(_ZEROS,), held=_ZEROS.planes)),
    capture_case("aliasing", "not finite any more", "must failed", held(_gone)),
    capture_case("aliasing", "every plane changed", "must failed", held(_every)),
    capture_case("aliasing", "halfway through a layer", "must failed", halfway(_AFAR, _AFAR, (5, 0.01), _AFAR)),
    capture_case("aliasing", "halfway, on the bounds", "must failed", halfway((5, 0.03), _AFAR, _AFAR, _AFAR)),
    capture_case("aliasing", "halfway, beyond the tolerance", "must passed", halfway((5, 0.031), _AFAR, _AFAR, _AFAR)),
    capture_case("aliasing", "halfway, near a boundary", "must passed", halfway((5, 0.01), comparison=compare())),
    capture_case("aliasing", "halfway, of an unknown dtype", "must passed", halfway((5, 0.01), **_FLOAT16)),
    capture_case("aliasing", "halfway, without layers", "must passed", halfway((5, 0.01), comparison=_HEAD)),
    capture_case("aliasing", "planes do not stack", "must errored", _RAGGED_HELD),
    capture_case("aliasing", "not readable again", "must errored", sound_capture(held=None, held_shapes=())),
    capture_case("aliasing", "raises", "must errored", CRASHED),
)


def rerun(number: int, changed: CapturedRequest) -> tuple[CapturedRequest, ...]:
    """Give a second run of the three requests, one of them changed."""
    answers = [captured(length) for length in LENGTHS]
    answers[number] = changed
    return tuple(answers)


_OTHER_ROW = rerun(2, touched(captured(58), 1, 40, -1.0))
_SCALED = rerun(1, dataclasses.replace(captured(33), planes=captured(33).planes * np.float32(1.2)))
_IN_FP16 = tuple(captured(length, dtype="float16") for length in LENGTHS)
_ABOVE = rerun(1, values(_louder).alone[1])
_LOST = values(_nan).alone
_CUT_SHORT = sound_capture(
    batched=(captured(),), problems=(Problem("crashed", "on a batch, the capture raised", "mend it"),)
)

RERUNS: tuple[Case, ...] = (
    capture_case("padded-batch", "same", "must passed"),
    capture_case("padded-batch", "one row of another request", "must failed", sound_capture(batched=_OTHER_ROW)),
    capture_case("padded-batch", "padding attended to", "must failed", sound_capture(batched=_SCALED)),
    capture_case("padded-batch", "a little above the bound", "must failed", sound_capture(batched=_ABOVE)),
    capture_case("padded-batch", "not finite either time", "must passed", sound_capture(alone=_LOST, batched=_LOST)),
    capture_case("padded-batch", "not finite in a batch", "must failed", sound_capture(batched=_LOST)),
    capture_case("padded-batch", "not finite alone", "must failed", sound_capture(alone=_LOST)),
    capture_case("padded-batch", "answers out of order", "must failed", sound_capture(batched=rerun(0, captured(33)))),
    capture_case("padded-batch", "one sequence only", "must skipped", SINGLE),
    capture_case("padded-batch", "one sequence only, noted twice", "must skipped", _NOTED),
    capture_case("padded-batch", "cut short", "must errored", sound_capture(batched=(captured(),))),
    capture_case("padded-batch", "batch raises", "must errored", _CUT_SHORT),
    capture_case(
        "padded-batch", "no tolerance", "must errored", sound_capture(alone=_IN_FP16, compute_dtype="float16")
    ),
    capture_case("request-isolation", "same", "must passed"),
    capture_case("request-isolation", "old keys and values", "must failed", sound_capture(repeated=_SCALED)),
    capture_case("request-isolation", "not run again", "must skipped", sound_capture(repeated=())),
    capture_case("request-isolation", "raises", "must errored", CRASHED),
)
CASES = (*ANSWERS, *ROWS, *MEMORY, *RERUNS)
