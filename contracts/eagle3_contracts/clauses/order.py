"""Whether the planes come in the declared order (``capture.order``, ``dataset.order``)."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.states import Placement, PlaneFit, declared_candidate, name_planes
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def judge_order(clause: Clause, subject: str, placement: Placement) -> Finding:
    """Judge the order of those planes whose boundary is a declared one; other boundaries have no place in it."""
    if len(placement.fits) == 1:
        return Obstacle("one plane has no order", skips=True, rung=placement.rung).finding(clause, subject)
    if unknown := placement.unknown:
        reason = f"the boundary of {name_planes(unknown)} could not be told, and so no order"
        where = Where(plane=unknown[0].plane.name)
        return Obstacle(reason, f"see {clause.stage}.boundary", where, placement.rung).finding(clause, subject)
    places = [place for fit in placement.fits if (place := _declared_place(fit, placement)) is not None]
    if len(places) < 2:
        reason = f"{placement.found}: fewer than two of them are declared, and the others have no order"
        obstacle = Obstacle(reason, f"see {clause.stage}.boundary", rung=placement.rung, skips=True)
        return obstacle.finding(clause, subject)
    if places == sorted(places):
        return clause.find(
            Verdict.PASSED, subject, observed=placement.found, expected=placement.declared, rung=placement.rung
        )
    return _say_disorder(clause, subject, placement)


def _declared_place(fit: PlaneFit, placement: Placement) -> int | None:
    """Give the place at which what was found is declared: by boundary and state, else by boundary alone."""
    planes = [other.plane for other in placement.fits]
    exact = [place for place, plane in enumerate(planes) if declared_candidate(plane) == fit.found]
    alike = [place for place, plane in enumerate(planes) if plane.boundary == fit.found.boundary]
    return next(iter(exact + alike), None)


def _say_disorder(clause: Clause, subject: str, placement: Placement) -> Finding:
    moved = next(fit for fit in placement.fits if not fit.in_place)
    return clause.find(
        Verdict.FAILED,
        subject,
        observed=placement.found,
        expected=placement.declared,
        where=Where(plane=moved.plane.name),
        rung=placement.rung,
        measure=moved.declared_distance,
        bound=placement.bound,
        hint="these are the declared planes in another order: engines give planes in order of depth whatever the order "
        "of the ids, trainers concatenate them as they come. Write them as "
        + ", ".join(fit.plane.name for fit in placement.fits),
    )
