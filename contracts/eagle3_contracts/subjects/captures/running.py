"""Running the code under test: alone, in a padded batch, alone again; what it raises becomes a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from eagle3_contracts.evidence import Array, CapturedRequest, Problem
from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.captures.requests import Requests
from eagle3_contracts.subjects.captures.returned import (
    MisfitError,
    find_overlaps,
    list_planes,
    read_captured,
    read_values,
    split_planes,
)
from eagle3_contracts.subjects.named_code import last_line, restored_process

Answers = list[Any]
Call = Callable[[Sequence[Sequence[int]]], Answers]

_REMEDY = "run the capture on this request by itself and mend what it raises"
_PROTOCOL = "return one Captured(token_ids, planes) for each request of the batch, or take one sequence, return planes"


class CrashError(Exception):
    """The code under test raised, or gave no answer that the protocol knows.

    ``refused``: it raised ``NotImplementedError``, the way to say that it takes one sequence at a time.
    ``returned``: it came to an end, so that this is the form that it was called in.
    """

    def __init__(self, reason: str, remedy: str = _REMEDY, *, refused: bool = False, returned: bool = False) -> None:
        self.reason, self.remedy, self.refused, self.returned = reason, remedy, refused, returned
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class CaptureRuns:
    """The outcome of every run; see ``CaptureEvidence``, whose fields these become."""

    form: Literal["batch", "single"] = "batch"
    alone: tuple[CapturedRequest, ...] = ()
    batched: tuple[CapturedRequest, ...] = ()
    repeated: tuple[CapturedRequest, ...] = ()
    held: Array | None = None
    held_shapes: tuple[tuple[int, ...], ...] = ()
    overlaps: tuple[tuple[int, int], ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Run:
    """One run over requests: what was read, and what ended it."""

    read: tuple[CapturedRequest, ...] = ()
    problems: tuple[Problem, ...] = ()

    def take(self, request: Sequence[int], answer: Any, how: str) -> bool:
        """Read one answer; tell whether the run may go on."""
        try:
            found, self.problems = read_captured(request, answer)
        except MisfitError as misfit:
            reason = f"{_occasion(request, how)}: {misfit.reason}"
            self.problems = (Problem("unsupported", reason, misfit.remedy),)
            return False
        self.read += (found,)
        return not self.problems


def run_requests(capture: Callable[..., Any], requests: Requests) -> CaptureRuns:
    """Run every request alone, all in one batch, and alone again; stop at the first run that goes wrong.

    The first answer is held by reference all the while, and read again at the end.
    """
    try:
        form, call, first = _first_answer(capture, requests[0])
    except CrashError as crash:
        return CaptureRuns(problems=(_crash_problem(crash, _occasion(requests[0], "alone")),))
    alone = _Run()
    overlaps: tuple[tuple[int, int], ...] = ()
    if alone.take(requests[0], first, "alone"):
        overlaps = find_overlaps(first)
        _run_each(call, requests[1:], "alone", alone)
    runs = CaptureRuns(form, alone.read, overlaps=overlaps, problems=alone.problems)
    if not runs.problems:
        runs = _run_batch(call, requests, runs)
    if not runs.problems:
        again = _Run()
        _run_each(call, requests, "alone, after other requests", again)
        runs = replace(runs, repeated=again.read, problems=again.problems)
    held, shapes = _read_held(first)
    return replace(runs, held=held, held_shapes=shapes)


def _first_answer(capture: Callable[..., Any], request: Sequence[int]) -> tuple[Literal["batch", "single"], Call, Any]:
    """Run the first request, and tell from the answer whether the code takes a batch or a single sequence."""
    together, one_by_one = _together(capture), _one_by_one(capture)
    try:
        return "batch", together, together([request])[0]
    except CrashError as crash:
        as_batch = crash
    try:
        return "single", one_by_one, one_by_one([request])[0]
    except CrashError as crash:
        if crash.reason == as_batch.reason or (crash.returned and not as_batch.returned):
            raise
        if as_batch.returned:
            raise as_batch from None
        reason = f"called with a batch {as_batch.reason}; called with one sequence {crash.reason}"
        raise CrashError(reason, as_batch.remedy) from None


def _together(capture: Callable[..., Any]) -> Call:
    """Call with the whole batch; every answer must have token ids and planes."""

    def call(batch: Sequence[Sequence[int]]) -> Answers:
        given = _call(capture, [list(request) for request in batch])
        answers = list(given) if isinstance(given, Sequence) else [given]
        if not answers or not all(hasattr(answer, "token_ids") and hasattr(answer, "planes") for answer in answers):
            of = f" of {type(answers[0]).__name__}" if isinstance(given, list | tuple) and answers else ""
            raise CrashError(f"returned a {type(given).__name__}{of}, not a list of Captured", _PROTOCOL, returned=True)
        if len(answers) != len(batch):
            raise CrashError(f"returned {len(answers)} answers for {len(batch)} requests", _PROTOCOL, returned=True)
        return answers

    return call


def _one_by_one(capture: Callable[..., Any]) -> Call:
    """Call with one flat sequence for each request; the answer is its planes."""

    def call(batch: Sequence[Sequence[int]]) -> Answers:
        return [Captured(request, _check_planes(_call(capture, list(request)))) for request in batch]

    return call


def _check_planes(planes: Any) -> Any:
    """Let pass what holds arrays; anything else is no answer to a single sequence."""
    try:
        parts = split_planes(planes)
    except MisfitError:
        parts = []
    if not parts or not all(hasattr(part, "shape") for part in parts):
        raise CrashError(f"returned a {type(planes).__name__} that holds no planes", _PROTOCOL, returned=True)
    return planes


def _call(capture: Callable[..., Any], argument: object) -> Any:
    try:
        with restored_process():
            return capture(argument)
    except (Exception, SystemExit) as error:
        raise CrashError(f"raised {last_line(error)}", refused=isinstance(error, NotImplementedError)) from error


def _run_each(call: Call, requests: Requests, how: str, run: _Run) -> None:
    """Run requests one after the other; one that goes wrong ends it."""
    for request in requests:
        try:
            answers = call([request])
        except CrashError as crash:
            run.problems = (_crash_problem(crash, _occasion(request, how)),)
            return
        if not run.take(request, answers[0], how):
            return


def _run_batch(call: Call, requests: Requests, runs: CaptureRuns) -> CaptureRuns:
    """Run all requests in one batch; a capture that takes one sequence only goes without."""
    if runs.form == "single":
        note = "the capture takes one sequence and returns planes alone: batches and token ids cannot be checked"
        return replace(runs, notes=(note,))
    try:
        answers = call(requests)
    except CrashError as crash:
        if crash.refused:
            return replace(runs, notes=(f"the capture refuses a batch of several requests: it {crash.reason}",))
        occasion = f"a batch of {len(requests)} requests of different lengths"
        return replace(runs, problems=(_crash_problem(crash, occasion),))
    batched = _Run()
    for request, answer in zip(requests, answers, strict=True):
        if not batched.take(request, answer, "in a batch"):
            break
    return replace(runs, batched=batched.read, problems=batched.problems)


def _occasion(request: Sequence[int], how: str) -> str:
    return f"a request of {len(request)} tokens, {how}"


def _crash_problem(crash: CrashError, occasion: str) -> Problem:
    return Problem("crashed", f"on {occasion}, the capture {crash.reason}", crash.remedy)


def _read_held(answer: Any) -> tuple[Array | None, tuple[tuple[int, ...], ...]]:
    """Read the held planes again; if they no longer stack, their shapes say so."""
    try:
        read = [read_values(part)[0] for part in list_planes(answer)]
    except MisfitError:
        return None, ()
    shapes = tuple(part.shape for part in read)
    stacks = len(set(shapes)) == 1 and len(shapes[0]) == 2
    return (np.stack(read) if stacks else None), shapes
