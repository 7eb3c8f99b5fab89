"""From a named capture to evidence: run it, then hold what it gave against the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import Array, CapturedRequest, CaptureEvidence, Problem, TargetComparison
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.captures.naming import open_capture
from eagle3_contracts.subjects.captures.requests import make_requests
from eagle3_contracts.subjects.captures.running import run_requests
from eagle3_contracts.subjects.named_code import CodeError, NeedsError

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target


def gather_capture(
    contract: Contract, subject: Subject, options: Options, requests: Sequence[Sequence[int]] | None = None
) -> CaptureEvidence:
    """Run the capture that ``subject`` names or is; see ``captures.gather``."""
    try:
        capture = subject.code or open_capture(contract, subject.value, options.target)
    except CodeError as error:
        remedy = "mend the code under test: it fails before anything is captured"
        return CaptureEvidence(subject.label, problems=(Problem("crashed", str(error), remedy),))
    except NeedsError as error:
        return CaptureEvidence(subject.label, problems=(Problem("needs", error.reason, error.remedy),))
    asked = tuple(tuple(request) for request in requests or make_requests(contract.target.vocab_size, options.seed))
    runs = run_requests(capture, asked)
    compute_dtype, assumed = _compute_dtype(capture, contract)
    samples, mismatch = _samples(contract, subject, options, runs.alone)
    comparison, halfway = _compare(contract, options, samples) if samples else (None, ())
    return CaptureEvidence(
        subject=subject.label,
        alone=runs.alone,
        batched=runs.batched,
        repeated=runs.repeated,
        held=runs.held,
        compute_dtype=compute_dtype,
        comparison=comparison,
        problems=runs.problems + mismatch,
        notes=runs.notes + assumed,
        form=runs.form,
        held_shapes=runs.held_shapes,
        overlaps=runs.overlaps,
        halfway=halfway,
    )


def _compute_dtype(capture: Callable[..., Any], contract: Contract) -> tuple[str, tuple[str, ...]]:
    """Give the dtype that the capture says it computes in, or the contract's, with a note that says so."""
    declared = getattr(capture, "compute_dtype", None)
    if isinstance(declared, str):
        return declared, ()
    dtype = contract.target.dtype
    return dtype, (f"the capture has no attribute compute_dtype: {dtype}, the target's, is assumed",)


def _samples(
    contract: Contract, subject: Subject, options: Options, alone: tuple[CapturedRequest, ...]
) -> tuple[list[tuple[tuple[int, ...], Array]], tuple[Problem, ...]]:
    """Give the token ids and planes to hold against the target, if there is one; a misfit is a problem of its kind."""
    if options.target is None and subject.value != "embedded":
        return [], ()
    width = contract.target.hidden_size
    for request in alone:
        rows = (len(request.token_ids), width)
        if request.planes.shape[1:] != rows:
            shape = list(request.planes.shape) if request.planes.size else [list(shape) for shape in request.shapes]
            reason = f"planes {shape} for {rows[0]} token ids and width {rows[1]} cannot be held against the target"
            remedy = "mend the shapes first: see capture.runs, capture.rows, capture.width"
            return [], (Problem("target", reason, remedy),)
    return [(request.token_ids, request.planes) for request in alone], ()


def _compare(
    contract: Contract, options: Options, samples: list[tuple[tuple[int, ...], Array]]
) -> tuple[TargetComparison, tuple[tuple[int, float], ...]]:
    """Hold the planes against the target: its boundaries, and the states halfway through its layers."""
    from eagle3_contracts.subjects.captures.halfway import measure_halfway
    from eagle3_contracts.subjects.datasets.probing import RememberingTarget
    from eagle3_contracts.subjects.targets.comparing import compare_planes

    target = cast("Target", RememberingTarget(_open_target(contract, options)))
    return compare_planes(target, contract, samples), measure_halfway(target, samples)


def _open_target(contract: Contract, options: Options) -> Target:
    """Open the target that was given, else the embedded one, by the route that its capture does not take."""
    from eagle3_contracts.subjects.targets import open_target

    if options.target is not None:
        return open_target(options.target, contract)
    return open_target(str(embedded_target()), contract, route="numpy")
