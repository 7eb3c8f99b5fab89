"""What the capture code under test did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.evidence.problem import Array, Problem
from eagle3_contracts.evidence.target import TargetComparison


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """What the capture code gave for one request.

    ``given``: the token ids asked for; ``token_ids``: those it returned. ``planes`` [P, T, H]: what it returned as
    planes, then ``last_hidden`` [T, H] if it came apart. ``shapes``: of the same, one by one; planes that do not
    stack are kept there alone, and ``planes`` is then [0, 0, 0]. ``dtype``: of what it returned, several joined by
    slashes.
    """

    given: tuple[int, ...]
    token_ids: tuple[int, ...]
    planes: Array
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    last_hidden: Array | None = None


@dataclass(frozen=True, slots=True)
class CaptureEvidence:
    """What the capture code under test did.

    ``form``: ``batch``, or ``single`` for code that takes one sequence and returns planes alone; it cannot be
    asked for a batch, and its token ids are those given, so that the clauses on both have nothing to judge
    (``notes`` says so).
    ``alone``: each request by itself. ``batched``: the same requests in the same order in one padded batch,
    ``repeated``: the same alone again, after others; a run that went wrong is cut short there, with a problem.

    Three signs of memory that is not the plane's own. ``held``: the first request's planes kept by reference
    while everything else ran, and read again at the end; a difference from ``alone[0].planes`` is overwritten
    memory (None if they no longer stack; ``held_shapes`` then differs from ``alone[0].shapes``: one list that
    every call appends to). ``overlaps``: pairs of the first request's planes that lie on common memory. Planes of
    different boundaries that are bit-identical: one buffer, captured several times and copied at the end. With a full
    target a fourth: ``halfway``, for each plane the layer whose state between its sublayers (R[k+1] without the
    branch of layer k) is nearest, and the median relative L2 from it: what a tap that kept a reference shows when
    the next layer adds its attention in place; no ids give it. Empty if it was not measured. A plane that a later
    layer overwrites whole, without any of these signs, cannot be told from ids that are one off.
    ``comparison``: against the reference target, over ``alone``; ``compute_dtype``: the dtype the capture ran in, as
    far as it says so, which with ``CapturedRequest.dtype`` sets the tolerance.
    """

    subject: str
    alone: tuple[CapturedRequest, ...] = ()
    batched: tuple[CapturedRequest, ...] = ()
    repeated: tuple[CapturedRequest, ...] = ()
    held: Array | None = None
    compute_dtype: str = "float32"
    comparison: TargetComparison | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    form: Literal["batch", "single"] = "batch"
    held_shapes: tuple[tuple[int, ...], ...] = ()
    overlaps: tuple[tuple[int, int], ...] = ()
    halfway: tuple[tuple[int, float], ...] = ()
