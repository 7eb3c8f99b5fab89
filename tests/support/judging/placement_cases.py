"""What the clauses on boundary, order, residual, shift and final state must say, for either stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Stranger, TargetComparison
from eagle3_contracts.findings import Rung, Where
from support.judging.cases import Case, capture_case, dataset_case
from support.judging.comparisons import (
    DECLARED,
    Plane,
    at_shift,
    compare,
    compare_states,
    cut_candidates,
    near_shift,
    read_text,
    rebuild_logits,
)
from support.judging.documents import LAYERS, toy_contract
from support.judging.evidence import captured, plane_record, seen, signature, sound_capture, sound_dataset, touched

LOW, MID, HIGH, FINAL = DECLARED
STORY = (Plane(0), Plane(2), Plane(4), Plane(6))
LATE = tuple(Plane(plane.boundary + 1) for plane in DECLARED[:3])
EARLY = tuple(Plane(plane.boundary - 1) for plane in DECLARED)
SWAPPED = (MID, LOW, HIGH, FINAL)
BARE = (LOW, Plane(4, state="b"), HIGH, FINAL)
NORMED = (LOW, MID, HIGH, Plane(8, state="n"))
SHIFTED = tuple(dataclasses.replace(plane, shift=1) for plane in DECLARED)
LAST_SHIFTED = (LOW, MID, HIGH, dataclasses.replace(FINAL, shift=-1))
DRIFT = (LOW, MID, Plane(6, 0.08), FINAL)
CLOSE = (LOW, Plane(4, 0.02, rival=0.04), HIGH, FINAL)
STRANGE = (LOW, MID, HIGH, Plane(8, 0.97, rival=0.98))
NO_FINAL = toy_contract("low", "mid", "high")
STRAYS = (LOW, MID, HIGH, Plane(8, p99=0.98))
STRAY_LOGITS = tuple(dataclasses.replace(item, kl=3.1) for item in rebuild_logits())
EITHER_WAY = (SHIFTED[0], dataclasses.replace(MID, shift=-1), dataclasses.replace(HIGH, shift=-1), FINAL)
NEXT = near_shift(compare_states(), 1, 0.9)
AT_ZERO = at_shift(compare_states(), 0)
NO_RESIDUAL = (LOW, MID, HIGH, Plane(8, state="b"))
NO_NUMBERS = tuple(
    dataclasses.replace(item, logprob_max=float("nan"), argmax_agreement=None) for item in rebuild_logits()
)
STRANGE_LOGITS = rebuild_logits(off=4.2)
NORMED_ON_BOUND = rebuild_logits(reading="post_norm", off=0.25)
NORMED_LOGITS = rebuild_logits(reading="post_norm")

Make = Callable[..., Case]
Say = Callable[..., Case]
"""Make a case from clause, name, expected findings, comparison and, if it is another, contract."""


def _boundary_cases(case: Say, bare: str) -> tuple[Case, ...]:
    """``bare``: what the clause says of a missing residual."""
    short = compare(states=compare_states(tokens=40, sinks=24))
    return (
        case("boundary", "as declared", "must passed", compare()),
        case("boundary", "the story: embedding first", "must failed", compare(STORY)),
        case("boundary", "one early", "must failed", compare(EARLY)),
        case("boundary", "one late", "must failed", compare(LATE), NO_FINAL),
        case("boundary", "defaults", "must failed", compare((Plane(2), Plane(4), Plane(5), FINAL))),
        case("boundary", "one plane one late", "must failed", compare((LOW, Plane(5), HIGH, FINAL))),
        case("boundary", "one boundary twice", "must failed", compare((LOW, MID, MID, FINAL))),
        case("boundary", "near no boundary", "must failed", compare(STRANGE)),
        case("boundary", "drift", "should failed", compare(DRIFT)),
        case("boundary", "two planes drift", "should failed", compare((LOW, Plane(4, 0.05), Plane(6, 0.08), FINAL))),
        case("boundary", "on the tolerance", "must passed", compare((Plane(2, 0.03), *DECLARED[1:]))),
        case(
            "boundary", "on the least margin", "should failed", compare((Plane(2, 0.125, rival=0.375), *DECLARED[1:]))
        ),
        case("boundary", "just unlike", "must failed", compare((Plane(2, 0.5, rival=1.6), *DECLARED[1:]))),
        case("boundary", "two near no boundary", "must failed", compare((*STRANGE[:2], STRANGE[3], STRANGE[3]))),
        case("boundary", "one late but the last", "must failed", compare((*LATE, FINAL))),
        case("boundary", "moved up behind another", "must failed", compare((Plane(1), LOW, MID, HIGH))),
        case("boundary", "two too close to tell", "must errored", compare((Plane(2, 0.03, rival=0.05), *CLOSE[1:]))),
        case("boundary", "too close to tell", "must errored", compare(CLOSE)),
        case("boundary", "one wrong and one drifting", "must failed, should failed", compare((Plane(3), *DRIFT[1:]))),
        case("boundary", "just enough tokens", "must passed", compare(states=compare_states(tokens=64))),
        case("boundary", "infinitely far at other tokens", "must passed", compare(states=compare_states(far=np.inf))),
        case(
            "boundary", "another target's layers", "must errored", compare(states=cut_candidates(compare_states(), 6))
        ),
        case("boundary", "too few tokens", "must errored", short),
        case("boundary", "planes missing", "must errored", compare(STORY[:3])),
        case("boundary", "swapped", "must passed", compare(SWAPPED)),
        case("boundary", "other norm state", "must passed", compare(NORMED)),
        case(
            "boundary", "norm states close to each other", "must passed", compare((LOW, MID, HIGH, Plane(8, twin=0.02)))
        ),
        case("boundary", "shifted", "must passed", compare(SHIFTED)),
        case("boundary", "shifted either way", "must passed", compare(EITHER_WAY)),
        case("boundary", "without residual", bare, compare(BARE)),
        case("boundary", "no target", "must skipped", None),
    )


def _order_cases(case: Say) -> tuple[Case, ...]:
    return (
        case("order", "as declared", "must passed", compare()),
        case("order", "swapped", "must failed", compare(SWAPPED)),
        case(
            "order",
            "swapped, in the other norm state",
            "must failed",
            compare((Plane(8, state="n"), LOW)),
            toy_contract("low", "final"),
        ),
        case("order", "wrong boundaries in order", "must passed", compare(STORY)),
        case("order", "too few declared ones", "must skipped", compare(LATE), NO_FINAL),
        case("order", "one plane", "must skipped", compare((LOW,)), toy_contract("low")),
        case("order", "near no boundary", "must errored", compare(STRANGE)),
        case("order", "planes missing", "must errored", compare(STORY[:3])),
    )


def _token_shift_cases(case: Say) -> tuple[Case, ...]:
    afar = compare_states((LOW, MID, HIGH, Plane(8, 0.6, shift=1, rival=2.0, twin=2.0)), far=3.0)
    return (
        case("token-shift", "row by row", "must passed", compare()),
        case("token-shift", "all shifted", "must failed", compare(SHIFTED)),
        case("token-shift", "last plane shifted back", "must failed", compare(LAST_SHIFTED)),
        case("token-shift", "shifted either way", "must failed", compare(EITHER_WAY)),
        case("token-shift", "one plane", "must passed", compare((LOW,)), toy_contract("low")),
        case("token-shift", "planes missing", "must errored", compare(STORY[:3])),
        case("token-shift", "one nearer to another token", "must passed", compare((LOW, Plane(4, 0.02), HIGH, FINAL))),
        case("token-shift", "the next token nearest of others", "must passed", compare(states=NEXT)),
        case("token-shift", "at no other token", "must errored", compare(states=AT_ZERO)),
        case("token-shift", "rows of other chunks", "must failed", compare((LOW, Plane(4, p99=0.6), HIGH, STRAYS[3]))),
        case("token-shift", "near no boundary", "must errored", compare(STRANGE)),
        case("token-shift", "near no boundary at any token", "must errored", compare(states=afar)),
        case("token-shift", "rows of another chunk", "must failed", compare(STRAYS)),
        case("token-shift", "no target", "must skipped", None),
    )


def _final_state_cases(case: Say) -> tuple[Case, ...]:
    return (
        case("final-state", "logits rebuilt", "must passed", compare()),
        case("final-state", "post-norm for pre-norm", "must failed", compare(NORMED, logits=NORMED_LOGITS)),
        case("final-state", "rows of another chunk", "must passed", compare(STRAYS, logits=STRAY_LOGITS)),
        case("final-state", "rows of another chunk that do no harm", "must passed", compare(STRAYS)),
        case("final-state", "normed by its logits alone", "must failed", compare(logits=NORMED_LOGITS)),
        case("final-state", "normed, on the bound", "must failed", compare(logits=NORMED_ON_BOUND)),
        case("final-state", "without residual", "must failed", compare(NO_RESIDUAL, logits=STRANGE_LOGITS)),
        case("final-state", "not finite", "must failed", compare(logits=NO_NUMBERS)),
        case("final-state", "on the bound", "must passed", compare(logits=rebuild_logits(off=0.25))),
        case("final-state", "one reading alone", "must passed", compare(logits=rebuild_logits()[:1])),
        case("final-state", "other readings alone", "must errored", compare(logits=rebuild_logits()[1:])),
        case("final-state", "planes missing", "must errored", compare(STORY[:3])),
        case("final-state", "another tail", "must failed", compare(logits=STRAY_LOGITS)),
        case("final-state", "no reading fits", "must failed", compare(EARLY, logits=STRANGE_LOGITS)),
        case(
            "final-state",
            "drift",
            "must failed",
            compare((LOW, MID, HIGH, Plane(8, 0.08)), logits=rebuild_logits(off=0.4)),
        ),
        case("final-state", "weights that hide the norm", "must failed", compare(NORMED)),
        case("final-state", "shifted", "must errored", compare(SHIFTED, logits=STRANGE_LOGITS)),
        case("final-state", "swapped", "must errored", compare((FINAL, MID, HIGH, LOW), logits=STRANGE_LOGITS)),
        case("final-state", "other plane rebuilt", "must errored", compare(logits=rebuild_logits(1))),
        case("final-state", "no final state declared", "must skipped", compare(DECLARED[:3]), NO_FINAL),
        case("final-state", "no target", "must skipped", None),
    )


def _shared(make: Make, give: Callable[..., Any], bare: str) -> tuple[Case, ...]:
    """List the cases that both stages have; ``bare`` is what the boundary clause says of a missing residual."""

    def case(clause: str, name: str, expected: str, comparison: TargetComparison | None, contract: Any = None) -> Case:
        return make(clause, name, expected, give(comparison=comparison), contract)

    return (
        *_boundary_cases(case, bare),
        *_order_cases(case),
        *_token_shift_cases(case),
        *_final_state_cases(case),
    )


def _partial(make: Make, give: Callable[..., Any]) -> tuple[Case, ...]:
    """List the cases of a target that has its norm and head alone."""

    def text(pre: float, post: float, double: float, rms: float | None = None, *, readings: int = 3) -> Any:
        logits = read_text({"pre_norm": pre, "post_norm": post, "double_norm": double})[:readings]
        values = None if rms is None else np.array([0.9, 1.9, 3.0, rms])
        return give(comparison=TargetComparison(Rung.HEAD, 108, logits=logits, norm_vector_rms=values))

    normed = toy_contract("low", "mid", "high", "normed")
    return (
        make("final-state", "norm and head: likely text", "must passed", text(3.3, 450.0, 11.5)),
        make("final-state", "norm and head: normed already", "must failed", text(11.5, 3.3, 9.0)),
        make("final-state", "norm and head: not normed yet", "must failed", text(3.3, 450.0, 11.5), normed),
        make("final-state", "norm and head: no likelier reading", "must errored", text(3.3, 3.5, 9.0)),
        make("final-state", "norm and head: near readings, not normed", "must passed", text(0.69, 1.0, 0.72, 3.8)),
        make("final-state", "norm and head: near readings, normed", "must failed", text(0.72, 0.69, 0.8, 1.0)),
        make("final-state", "norm and head: near readings, unclear", "must errored", text(0.69, 1.0, 0.72, 1.5)),
        make("final-state", "norm and head: one reading", "must errored", text(3.3, 0, 0, readings=1)),
        make("final-state", "norm and head: on the margin", "must passed", text(3.25, 3.75, 9.0)),
        make("final-state", "norm and head: on the margin of another", "must failed", text(3.75, 3.25, 9.0)),
        make("final-state", "norm and head: hardly better than chance", "must errored", text(4.0, 450.0, 11.5)),
        make("final-state", "norm and head: the text against the norm", "must failed", text(3.0, 2.0, 9.0, 3.8)),
        make("final-state", "norm and head: worse than chance", "must errored", text(7.0, 450.0, 11.5)),
    )


def _captures(**changes: Any) -> Any:
    comparison = changes.get("comparison")
    states = comparison.states if comparison else None
    count = states.median.shape[1] if states else 4
    return sound_capture(alone=(captured(58, planes=count), captured(33, planes=count)), **changes)


def _datasets(**changes: Any) -> Any:
    comparison = changes.get("comparison")
    states = comparison.states if comparison else None
    count = states.median.shape[1] if states else 4
    shape = signature(planes=count, widths=(8,) * count, dtypes=("bfloat16",) * count)
    planes = tuple(plane_record() for _ in range(count))
    return sound_dataset(planes=planes, signatures={shape: seen("hs_0.safetensors", count=64)}, **changes)


_FLOAT16_CAPTURE = sound_capture(alone=(captured(dtype="float16"),), compute_dtype="float16")
_FLOAT8_DATASET = sound_dataset(signatures={signature(dtypes=("float8_e4m3fn",) * 4): seen("hs_0.safetensors")})
_NO_BRANCHES = compare(states=cut_candidates(compare_states(), LAYERS + 2))
_TWO_DTYPES = sound_capture(alone=(captured(dtype="bfloat16/float32"),))
_DAMAGED = sound_capture(alone=(touched(captured(), 3, 5, 0.0),), comparison=compare(STRAYS))
_SCALED = {"target": {"embed_scale": 2.83}}
_SCALED_EMBEDDING = toy_contract("embed", "low", "mid", "high", **_SCALED)
_NO_TOLERANCE = toy_contract().model_copy(update={"tolerance": {}})
_UNLIKE_EMBEDDING = _captures(comparison=compare((Plane(0, 0.97, rival=0.98), *DECLARED[:3])))
_INTEGERS = sound_dataset(signatures={signature(dtypes=("int8", *("bfloat16",) * 3)): seen("hs_0.safetensors")})
_UNWRITTEN = sound_dataset(
    comparison=compare(STRAYS), planes=(*[plane_record()] * 3, plane_record(zero=seen("hs_3", count=900)))
)
_ONE_STRANGER = sound_dataset(comparison=compare(STRAYS), strangers=(Stranger(Where("hs_1"), 1.3),))

CAPTURE_CASES: tuple[Case, ...] = (
    *_shared(capture_case, _captures, "must passed"),
    *_partial(capture_case, _captures),
    capture_case("residual", "added", "must passed"),
    capture_case("residual", "not added", "must failed", _captures(comparison=compare(BARE))),
    capture_case("residual", "planes missing", "must errored", _captures(comparison=compare(STORY[:3]))),
    capture_case("residual", "no branches at hand", "must errored", _captures(comparison=_NO_BRANCHES)),
    capture_case("residual", "near no boundary", "must errored", _captures(comparison=compare(STRANGE))),
    capture_case("residual", "no target", "must skipped", sound_capture(comparison=None)),
    capture_case("boundary", "no tolerance for the dtype", "must errored", _FLOAT16_CAPTURE),
    capture_case("boundary", "two dtypes", "must passed", _TWO_DTYPES),
    capture_case("boundary", "embedding not scaled", "must failed", _UNLIKE_EMBEDDING, _SCALED_EMBEDDING),
    capture_case(
        "boundary", "another embedding", "must failed", _UNLIKE_EMBEDDING, toy_contract("embed", "low", "mid", "high")
    ),
    capture_case(
        "boundary",
        "another plane, scaled",
        "must failed",
        _captures(comparison=compare(STRANGE)),
        toy_contract(**_SCALED),
    ),
    capture_case("token-shift", "rows never written", "must passed", _DAMAGED),
    capture_case("final-state", "no tolerance for the dtype", "must errored", _FLOAT16_CAPTURE),
)
DATASET_CASES: tuple[Case, ...] = (
    *_shared(dataset_case, _datasets, "must failed"),
    *_partial(dataset_case, _datasets),
    dataset_case("token-shift", "rows never written", "must passed", _UNWRITTEN),
    dataset_case("token-shift", "one sample of another text", "must passed", _ONE_STRANGER),
    dataset_case("boundary", "no tolerance for the dtype", "must errored", _FLOAT8_DATASET),
    dataset_case("boundary", "integers", "must errored", _INTEGERS),
    dataset_case("boundary", "no tolerance at all", "must errored", None, _NO_TOLERANCE),
)
