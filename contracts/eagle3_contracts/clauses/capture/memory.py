"""Whether a returned plane is memory of its own (``capture.aliasing``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from eagle3_contracts.clauses.bounds import SEPARATION
from eagle3_contracts.clauses.capture.answers import find_obstacle
from eagle3_contracts.clauses.capture.placement import captured_dtypes
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.rows import name_plane
from eagle3_contracts.clauses.tolerances import governing_tolerance
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_SHOWN = 3


def check_aliasing(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if planes lie on common memory, are copies of one buffer, or were changed after they were captured."""
    obstacle = find_obstacle(evidence)
    signs = [] if obstacle else list(_find_signs(contract, evidence))
    if obstacle is None and not signs and evidence.held is None:
        reason = "the first request's planes could not be read a second time, or do not stack, and were not compared"
        obstacle = Obstacle(reason, "see capture.runs and capture.rows")
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if not signs:
        count = len(evidence.alone[0].shapes)
        observed = f"{count} planes keep their values while later requests run, and share no memory"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    where, observed, rows = signs[0]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed="; ".join([observed, *(other for _, other, _ in signs[1:_SHOWN])]) + _say_more(len(signs)),
            where=where,
            measure=float(rows),
            bound=0.0,
            hint="copy each plane when it is captured (tensor.clone()), before the next layer adds to the same storage "
            "in place or the next request writes to the same buffer",
        )
    ]


def _say_more(count: int) -> str:
    return f"; and {count - _SHOWN} more" if count > _SHOWN else ""


def _find_signs(contract: Contract, evidence: CaptureEvidence) -> Iterator[tuple[Where, str, int]]:
    """Give every sign of foreign memory: where, what, and the number of rows it concerns."""
    first = evidence.alone[0]
    planes, count = contract.stored_planes(), len(first.shapes)
    for one, other in evidence.overlaps:
        names = f"{name_plane(planes, one, count)} and {name_plane(planes, other, count)}"
        yield (
            Where(plane=name_plane(planes, other, count)),
            f"planes {names} lie on common memory",
            first.shapes[one][0],
        )
    for one, other in _identical_planes(first):
        if (one, other) not in evidence.overlaps:
            names = f"{name_plane(planes, one, count)} and {name_plane(planes, other, count)}"
            yield (
                Where(plane=name_plane(planes, other, count)),
                f"planes {names} are bit-identical",
                len(first.planes[0]),
            )
    if evidence.held_shapes and evidence.held_shapes != first.shapes:
        reason = f"the answer to the first request has become {len(evidence.held_shapes)} planes, from {count}"
        yield Where(), reason, next((shape[0] for shape in first.shapes if shape), 1)
    elif evidence.held is not None and evidence.held.shape == first.planes.shape:
        changed = ~((evidence.held == first.planes) | (np.isnan(evidence.held) & np.isnan(first.planes))).all(axis=2)
        for index in np.flatnonzero(changed.any(axis=1)):
            name, rows = name_plane(planes, int(index), count), int(changed[index].sum())
            place = int(np.argmax(changed[index]))
            reason = f"{rows} of {changed.shape[1]} rows of plane {name} changed while later requests ran"
            yield Where(plane=name, token=place), reason, rows
    yield from _find_halfway(contract, evidence)


def _find_halfway(contract: Contract, evidence: CaptureEvidence) -> Iterator[tuple[Where, str, int]]:
    """Give the planes that are the stream in the middle of a layer, by the margin that a boundary needs."""
    states = evidence.comparison.states if evidence.comparison else None
    governing = governing_tolerance(contract, captured_dtypes(evidence))
    if states is None or isinstance(governing, Obstacle):
        return
    first = evidence.alone[0]
    for index, (layer, distance) in enumerate(evidence.halfway):
        nearest = float(states.median[states.shifts.index(0), index].min())
        if distance <= governing.relative_l2 and distance * SEPARATION <= nearest:
            name = name_plane(contract.stored_planes(), index, len(first.shapes))
            reason = (
                f"plane {name} is the stream halfway through layer {layer}, whose attention was added to it in place "
                f"({distance:.3g} from that, {nearest:.3g} from the nearest boundary)"
            )
            yield Where(plane=name), reason, first.shapes[index][0]


def _identical_planes(first: CapturedRequest) -> list[tuple[int, int]]:
    """Give the pairs of planes that are equal bit for bit; planes of zeros have a clause of their own."""
    return [
        (one, other)
        for (one, values), (other, others) in combinations(enumerate(first.planes), 2)
        if values.any() and np.array_equal(values, others)
    ]
