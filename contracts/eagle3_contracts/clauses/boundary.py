"""Whether every plane is the residual stream at its declared boundary (``capture.boundary``, ``dataset.boundary``).

Judged at the token shift at which a plane fits, so that a shift is the shift clause's fault alone. Declared boundaries
in another order are the order's fault; boundary n in the other norm state is the final state's.
"""

from __future__ import annotations

from collections.abc import Sequence

from eagle3_contracts.clauses.causes import guess_cause
from eagle3_contracts.clauses.states import Likeness, Placement, PlaneFit, name_planes
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Level, Verdict, Where
from eagle3_contracts.registry import Clause


def judge_boundary(
    clause: Clause, contract: Contract, subject: str, placement: Placement, *, residual_apart: bool
) -> list[Finding]:
    """Judge the boundary of every plane: a failed must for wrong ones, a failed should for drift, errored if unclear.

    ``residual_apart``: the stage has a clause of its own for a missing residual; otherwise it fails here.
    """
    wrong = [] if placement.permuted else [fit for fit in placement.fits if _is_wrong(fit, residual_apart)]
    drifting = [fit for fit in placement.fits if fit not in wrong and fit.likeness is Likeness.DRIFTS]
    unclear = [fit for fit in placement.fits if fit.likeness is Likeness.UNCLEAR]
    findings: list[Finding] = []
    if wrong:
        findings.append(_say_wrong(clause, contract, subject, placement, wrong))
    if drifting:
        findings.append(_say_drift(clause, contract, subject, placement, drifting))
    if unclear:
        findings.append(_say_inseparable(clause, subject, placement, unclear))
    return findings or [_say_right(clause, subject, placement)]


def _is_wrong(fit: PlaneFit, residual_apart: bool) -> bool:  # noqa: FBT001 - handed on
    if fit.likeness is Likeness.UNLIKE:
        return True
    bare = fit.found.state == "branch" and not residual_apart
    return fit.identified and (not fit.in_place or bare)


def _say_wrong(
    clause: Clause, contract: Contract, subject: str, placement: Placement, wrong: Sequence[PlaneFit]
) -> Finding:
    first = wrong[0]
    unlike = [fit for fit in wrong if fit.likeness is Likeness.UNLIKE]
    strange = "".join(
        f"; plane {fit.plane.name} is near no boundary (nearest {fit.found}, {fit.distance:.3g})" for fit in unlike
    )
    return clause.find(
        Verdict.FAILED,
        subject,
        observed=f"{placement.found}{_say_shift(placement)}{strange}",
        expected=placement.declared,
        where=Where(plane=first.plane.name),
        rung=placement.rung,
        measure=first.declared_distance,
        bound=placement.bound,
        hint=guess_cause(contract, placement, wrong),
    )


def _say_drift(
    clause: Clause, contract: Contract, subject: str, placement: Placement, drifting: Sequence[PlaneFit]
) -> Finding:
    worst = max(drifting, key=lambda fit: fit.distance)
    dtype = placement.governing.dtype
    return clause.find(
        Verdict.FAILED,
        subject,
        observed=f"drift: {name_planes(drifting)} nearest to the declared boundary, but {worst.distance:.3g} from "
        f"it, more than {dtype} accounts for ({worst.rival} is at {worst.rival_distance:.3g})",
        expected=f"a median relative L2 of at most {placement.bound:.3g} ({dtype})",
        where=Where(plane=worst.plane.name),
        rung=placement.rung,
        measure=worst.distance,
        bound=placement.bound,
        hint=f"the states come from a lower precision, another rotary base or scaling, a quantised target or another "
        f"revision than "
        f"{contract.target.model} (quantization = {contract.target.quantization!r}); a quantised target is another "
        f"target with a contract of its own",
        level=Level.SHOULD,
    )


def _say_inseparable(clause: Clause, subject: str, placement: Placement, unclear: Sequence[PlaneFit]) -> Finding:
    told = "; ".join(
        f"plane {fit.plane.name}: {fit.found} at {fit.distance:.3g}, {fit.rival} at {fit.rival_distance:.3g}"
        for fit in unclear
    )
    first = unclear[0]
    return clause.find(
        Verdict.ERRORED,
        subject,
        observed=f"cannot separate boundaries: {told}",
        expected=placement.declared,
        where=Where(plane=first.plane.name),
        rung=placement.rung,
        measure=first.distance,
        bound=min(placement.bound, first.rival_distance / 3),
        hint="the nearest boundary must be three times nearer than any other; hold real text against the target, not "
        "repeated or padding tokens, or compute in a higher precision",
    )


def _say_right(clause: Clause, subject: str, placement: Placement) -> Finding:
    worst = max(placement.fits, key=lambda fit: fit.distance)
    notes = ""
    if placement.permuted:
        notes = f"; the declared ones in another order (see {clause.stage}.order)"
    elif bare := [fit for fit in placement.fits if fit.found.state == "branch"]:
        notes = f"; {name_planes(bare)} without its residual (see {clause.stage}.residual)"
    elif normed := [fit for fit in placement.fits if fit.found.state != fit.plane.state]:
        notes = f"; {name_planes(normed)} in the other norm state (see {clause.stage}.final-state)"
    return clause.find(
        Verdict.PASSED,
        subject,
        observed=f"{placement.found}{_say_shift(placement)}{notes}; {say_count(placement.tokens, 'token')} compared, "
        f"{say_count(placement.sinks, 'sink token')} left out",
        expected=placement.declared,
        rung=placement.rung,
        measure=worst.distance,
        bound=placement.bound,
    )


def _say_shift(placement: Placement) -> str:
    shifted: dict[int, list[PlaneFit]] = {}
    for fit in placement.fits:
        if fit.shift:
            shifted.setdefault(fit.shift, []).append(fit)
    told = ", ".join(f"t{shift:+d} ({name_planes(fits)})" for shift, fits in shifted.items())
    return f" at token {told}" if told else ""
