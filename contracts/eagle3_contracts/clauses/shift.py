"""Whether row t is the state of token t (``capture.token-shift``, ``dataset.token-shift``)."""

from __future__ import annotations

from collections.abc import Collection

from eagle3_contracts.clauses.bounds import SEPARATION, UNLIKE
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.states import Placement, PlaneFit, name_planes, separates
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def judge_shift(clause: Clause, subject: str, placement: Placement, excused: Collection[str] = ()) -> Finding:
    """Judge the shift of every plane: it must fit at token t three times better than at any other, row by row.

    Rows that are near no boundary where the rest of the plane is are strays: the median hides them, p99 does not.
    ``excused``: planes whose strays are another clause's fault (rows that are not finite, or all zeros).
    """
    shifted = [fit for fit in placement.fits if fit.shift]
    if shifted:
        return _say_shifted(clause, subject, placement, shifted)
    if placement.fits[0].other_shift == 0:
        reason = "the planes were compared with their own tokens only, at no other shift"
        return Obstacle(reason, rung=placement.rung).finding(clause, subject)
    unclear = [fit for fit in placement.fits if not separates(fit.unshifted, fit.shifted)]
    if unclear:
        fit = unclear[0]
        reason = (
            f"{name_planes(unclear)}: {fit.unshifted:.3g} from the nearest boundary at token t and "
            f"{fit.shifted:.3g} at token t{fit.other_shift:+d}, too close to tell whose rows they are"
        )
        hint = f"see {clause.stage}.boundary: a plane that is near no boundary shows no shift either"
        where = Where(plane=fit.plane.name)
        return Obstacle(reason, hint, where, placement.rung).finding(clause, subject)
    strays = [fit for fit in placement.fits if fit.has_strays and fit.plane.name not in excused]
    if strays:
        return _say_strays(clause, subject, placement, strays)
    least = min(placement.fits, key=lambda fit: fit.shifted / max(fit.unshifted, 1e-12))
    return clause.find(
        Verdict.PASSED,
        subject,
        observed=f"every plane fits at token t ({least.plane.name}: median {least.unshifted:.3g}, against "
        f"{least.shifted:.3g} at token t{least.other_shift:+d})",
        rung=placement.rung,
        measure=least.unshifted,
        bound=least.shifted / SEPARATION,
    )


def _say_strays(clause: Clause, subject: str, placement: Placement, strays: list[PlaneFit]) -> Finding:
    fit = max(strays, key=lambda item: item.p99)
    return clause.find(
        Verdict.FAILED,
        subject,
        observed=f"some rows of {name_planes(strays)} are no state of their tokens: relative L2 {fit.p99:.3g} at the "
        f"99th percentile, {fit.distance:.3g} in the median",
        where=Where(plane=fit.plane.name),
        rung=placement.rung,
        measure=fit.p99,
        bound=UNLIKE,
        hint="rows of another request, or of another chunk of the same one: switch off prefix caching and chunked "
        "prefill while capturing, and cut each request's rows out by its own length and place",
    )


def _say_shifted(clause: Clause, subject: str, placement: Placement, shifted: list[PlaneFit]) -> Finding:
    fit = shifted[0]
    alike = [item for item in shifted if item.shift == fit.shift]
    others = [f", that of plane {item.plane.name} of t{item.shift:+d}" for item in shifted if item.shift != fit.shift]
    rest = "" if len(shifted) == len(placement.fits) else "; the other planes are not shifted"
    ahead = "one shift too many, or the first token's row was dropped" if fit.shift > 0 else "a row stands in front"
    return clause.find(
        Verdict.FAILED,
        subject,
        observed=f"row t of {name_planes(alike)} is the state of token t{fit.shift:+d} "
        f"(median {fit.shifted:.3g} there, {fit.unshifted:.3g} at token t){''.join(others)}{rest}",
        where=Where(plane=fit.plane.name),
        rung=placement.rung,
        measure=fit.unshifted,
        bound=placement.bound,
        hint=f"{ahead}: keep token ids and states of one forward pass as they are, and let the loader alone shift "
        "(SpecForge 0.1 and 0.2 differ in who shifts)",
    )
