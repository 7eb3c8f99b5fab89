"""What the clauses on a capture's answers, rows and memory must say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence, Problem
from support.judging.cases import Case, capture_case
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
_RAGGED = Problem(
    "ragged", "planes of one request differ in shape: [17, 8], [16, 8]", "capture every plane for all tokens"
)
_NO_BATCH = "the capture takes one sequence and returns planes alone: batches and token ids cannot be checked"
SINGLE = sound_capture(form="single", batched=(), notes=(_NO_BATCH,))
NOT_RUN = sound_capture(alone=(), batched=(), repeated=(), held=None, held_shapes=(), comparison=None)


def ragged(*shapes: tuple[int, ...]) -> CaptureEvidence:
    """Give the evidence of a first answer whose planes do not stack."""
    first = dataclasses.replace(captured(), planes=np.zeros((0, 0, 0), np.float32), shapes=shapes)
    return sound_capture(alone=(first,), batched=(), repeated=(), held=None, comparison=None, problems=(_RAGGED,))


def first_answer(**changes: Any) -> CaptureEvidence:
    """Give evidence whose first answer is another than it should be."""
    alone = (captured(17, **changes), captured(33), captured(58))
    return sound_capture(alone=alone)


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


ANSWERS: tuple[Case, ...] = (
    capture_case("runs", "answers", "must passed"),
    capture_case("runs", "answers one sequence at a time", "must passed", SINGLE),
    capture_case("runs", "raises", "must failed", CRASHED),
    capture_case("runs", "keeps a batch dimension", "must failed", ragged((1, 17, 8), (1, 17, 8))),
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
    capture_case("width", "raises", "must errored", CRASHED),
    capture_case("rows", "one per token", "must passed"),
    capture_case("rows", "one plane a row short", "must failed", ragged((17, 8), (16, 8), (17, 8), (17, 8))),
    capture_case("rows", "last chunk alone", "must failed", first_answer(shapes=((5, 8),) * 4)),
    capture_case("rows", "raises", "must errored", CRASHED),
    capture_case("token-ids", "as given", "must passed"),
    capture_case("token-ids", "another id", "must failed", first_answer(token_ids=(63, *captured().given[1:]))),
    capture_case("token-ids", "truncated", "must failed", first_answer(token_ids=captured().given[:-2])),
    capture_case("token-ids", "planes alone", "must skipped", SINGLE),
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
_CUT_SHORT = sound_capture(
    batched=(captured(),), problems=(Problem("crashed", "on a batch, the capture raised", "mend it"),)
)

RERUNS: tuple[Case, ...] = (
    capture_case("padded-batch", "same", "must passed"),
    capture_case("padded-batch", "one row of another request", "must failed", sound_capture(batched=_OTHER_ROW)),
    capture_case("padded-batch", "padding attended to", "must failed", sound_capture(batched=_SCALED)),
    capture_case("padded-batch", "answers out of order", "must failed", sound_capture(batched=rerun(0, captured(33)))),
    capture_case("padded-batch", "one sequence only", "must skipped", SINGLE),
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
