"""Whether a request gives the same states in a padded batch, and again after other requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eagle3_contracts.clauses.bounds import ROW_FACTOR
from eagle3_contracts.clauses.capture.answers import find_obstacle, name_request
from eagle3_contracts.clauses.capture.placement import captured_dtypes
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.rows import name_plane
from eagle3_contracts.clauses.tolerances import Governing, governing_tolerance
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.registry import Clause


def check_padded_batch(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a request's states in a padded batch leave the tolerance around those it gives alone."""
    hint = (
        "mask the padding, count positions from each request's first token, and cut each request's rows out by its own "
        "length and place in the batch"
    )
    return _judge_reruns(clause, contract, evidence, evidence.batched, "in a padded batch", hint)


def check_request_isolation(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a request's states after other requests leave the tolerance around those it gave before them."""
    hint = "clear keys, values and captured rows between requests (use_cache=False; a fresh list for every call)"
    return _judge_reruns(clause, contract, evidence, evidence.repeated, "after other requests", hint)


@dataclass(frozen=True, slots=True)
class _Gap:
    """The largest difference of one request between two runs: over its bound by ``excess`` times."""

    told: str
    where: Where
    measure: float
    bound: float

    @property
    def excess(self) -> float:
        return self.measure / self.bound


def _judge_reruns(
    clause: Clause,
    contract: Contract,
    evidence: CaptureEvidence,
    reruns: Sequence[CapturedRequest],
    occasion: str,
    hint: str,
) -> list[Finding]:
    obstacle = _find_obstacle(evidence, reruns)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    governing = governing_tolerance(contract, captured_dtypes(evidence))
    if isinstance(governing, Obstacle):
        return [governing.finding(clause, evidence.subject)]
    gaps = [
        gap
        for number, (alone, rerun) in enumerate(zip(evidence.alone, reruns, strict=True), 1)
        for gap in _measure(contract, governing, name_request(number, alone), alone, rerun)
    ]
    worst = max(gaps, key=lambda gap: gap.excess)
    failed = worst.excess > 1
    return [
        clause.find(
            Verdict.FAILED if failed else Verdict.PASSED,
            evidence.subject,
            observed=f"{worst.told} {occasion}",
            expected=f"median relative L2 per plane within {governing.relative_l2:.3g}, every row within "
            f"{ROW_FACTOR * governing.relative_l2:.3g} ({governing.dtype})",
            where=worst.where,
            measure=worst.measure,
            bound=worst.bound,
            hint=hint if failed else "",
        )
    ]


def _find_obstacle(evidence: CaptureEvidence, reruns: Sequence[CapturedRequest]) -> Obstacle | None:
    obstacle = find_obstacle(evidence)
    if obstacle is not None or len(reruns) == len(evidence.alone):
        return obstacle
    problem = first_problem(evidence.problems)
    if problem is not None:
        return from_problem(problem)
    if reruns:
        return Obstacle(f"{len(reruns)} of {len(evidence.alone)} requests were run again")
    return Obstacle("; ".join(evidence.notes) or "the requests were not run again", skips=True)


def _measure(
    contract: Contract, governing: Governing, name: str, alone: CapturedRequest, rerun: CapturedRequest
) -> list[_Gap]:
    """Give the largest median over rows of a plane, and the largest row, of one request."""
    if alone.planes.shape != rerun.planes.shape or not alone.planes.size:
        told = f"{name}: planes {list(rerun.planes.shape)}, but {list(alone.planes.shape)} alone,"
        return [_Gap(told, Where(), float("inf"), governing.relative_l2)]
    distance = _distances(alone, rerun)
    planes, count = contract.stored_planes(), len(distance)
    medians = np.median(distance, axis=1)
    plane = int(np.argmax(medians))
    gaps = [
        _Gap(
            f"{name}, plane {name_plane(planes, plane, count)}: median relative L2 {medians[plane]:.3g}",
            Where(plane=name_plane(planes, plane, count)),
            float(medians[plane]),
            governing.relative_l2,
        )
    ]
    plane, row = (int(place) for place in np.unravel_index(int(np.argmax(distance)), distance.shape))
    told = f"{name}, plane {name_plane(planes, plane, count)}, row {row}: relative L2 {distance[plane, row]:.3g}"
    where = Where(plane=name_plane(planes, plane, count), token=row)
    return [*gaps, _Gap(told, where, float(distance[plane, row]), ROW_FACTOR * governing.relative_l2)]


def _distances(alone: CapturedRequest, rerun: CapturedRequest) -> np.typing.NDArray[np.float64]:
    """Give the relative L2 [P, T]; rows that are not finite either time are the clause ``finite``'s."""
    with np.errstate(invalid="ignore"):
        distance = relative_l2(rerun.planes, alone.planes)
    before, after = (np.isfinite(request.planes).all(axis=2) for request in (alone, rerun))
    result: np.typing.NDArray[np.float64] = np.where(~before & ~after, 0.0, np.where(before & after, distance, np.inf))
    return result
