"""Whether a plane is the residual stream or only what a layer adds to it (``capture.residual``)."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.states import Placement, name_planes
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def judge_residual(clause: Clause, subject: str, placement: Placement) -> Finding:
    """Judge whether a plane is the last sublayer's output alone."""
    bare = [fit for fit in placement.fits if fit.identified and fit.found.state == "branch"]
    if bare:
        fit = bare[0]
        return clause.find(
            Verdict.FAILED,
            subject,
            observed=f"{placement.found}; {name_planes(bare)} the output of a layer's last sublayer alone "
            f"({fit.distance:.3g} from it, {fit.declared_distance:.3g} from the residual stream)",
            where=Where(plane=fit.plane.name),
            rung=placement.rung,
            measure=fit.declared_distance,
            bound=placement.bound,
            hint="fused layers return (hidden, residual) not yet added, and the next layer adds them: capture "
            "hidden + residual",
        )
    if not placement.branches:
        reason = "the target at hand does not give what a layer's last sublayer adds"
        return Obstacle(reason, "give a target in a supported format", rung=placement.rung).finding(clause, subject)
    if unknown := placement.unknown:
        reason = f"the boundary of {name_planes(unknown)} could not be told"
        where = Where(plane=unknown[0].plane.name)
        return Obstacle(reason, f"see {clause.stage}.boundary", where, placement.rung).finding(clause, subject)
    worst = max(placement.fits, key=lambda fit: fit.distance)
    return clause.find(
        Verdict.PASSED,
        subject,
        observed=f"{placement.found}, none a sublayer's output alone",
        rung=placement.rung,
        measure=worst.distance,
        bound=placement.bound,
    )
