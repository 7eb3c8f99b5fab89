"""Whether a final state has its declared norm state: logits rebuilt from it (``*.final-state``).

A state is judged by numbers, never by how often the argmax agrees: 96 % agreement was the wrong tensor in one public
case (TorchSpec issue #87). Two rungs: with the target's own logits, and with its norm and head alone, where the
likelihood of the text decides between readings and cannot tell the last boundary from the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from eagle3_contracts.clauses.bounds import NLL_MARGIN
from eagle3_contracts.clauses.norm_states import read_norm_state
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.states import Placement, PlaneFit
from eagle3_contracts.clauses.tolerances import Governing
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import LogitComparison, TargetComparison
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

WORDS = {"pre_norm": "not normed yet", "post_norm": "normed already", "double_norm": "to be normed twice"}
"""What a reading of a stored state takes it for."""


def judge_final_states(
    clause: Clause,
    contract: Contract,
    subject: str,
    planes: Sequence[Plane],
    count: int,
    comparison: TargetComparison,
    governing: Governing | Obstacle,
    placement: Placement | Obstacle,
) -> list[Finding]:
    """Judge every final state among the ``count`` planes that came; skipped if the contract declares none."""
    finals = [(index, plane) for index, plane in enumerate(planes) if plane.is_final]
    if not finals:
        reason = f"the contract declares no plane at boundary {contract.target.num_hidden_layers}, the final state"
        return [Obstacle(reason, skips=True, rung=comparison.rung).finding(clause, subject)]
    if count != len(planes):
        reason = f"{count} planes came, {len(planes)} are declared: which is the final state cannot be told"
        return [Obstacle(reason, f"see {clause.stage}.plane-count", rung=comparison.rung).finding(clause, subject)]
    findings = []
    for index, plane in finals:
        readings = [item for item in comparison.logits if item.plane == index]
        fit = placement.fits[index] if isinstance(placement, Placement) else None
        permuted = isinstance(placement, Placement) and placement.permuted
        obstacle = _obstacle(clause, plane, readings, fit, comparison.rung, permuted=permuted)
        if obstacle is not None:
            findings.append(obstacle.finding(clause, subject))
        elif readings[0].logprob_max is None:
            findings.append(_judge_text(clause, contract, subject, plane, readings, _rms(comparison, index)))
        elif isinstance(governing, Obstacle):
            findings.append(governing.finding(clause, subject))
        else:
            findings.append(_judge_logits(clause, subject, plane, readings, governing, fit))
    return findings


def _obstacle(
    clause: Clause,
    plane: Plane,
    readings: Sequence[LogitComparison],
    fit: PlaneFit | None,
    rung: Rung,
    *,
    permuted: bool,
) -> Obstacle | None:
    """Say why the logits of this plane decide nothing: not compared, or known to be of another place."""
    where = Where(plane=plane.name)
    if not any(item.reading == plane.state for item in readings):
        return Obstacle(f"no logits were rebuilt from plane {plane.name}", where=where, rung=rung)
    if fit is not None and fit.shift:
        reason = f"plane {plane.name} is shifted by {fit.shift:+d} token, so that its logits are those of other tokens"
        return Obstacle(reason, f"see {clause.stage}.token-shift", where, rung)
    if fit is not None and permuted and not fit.in_place:
        reason = f"{fit.found} stands in the place of plane {plane.name}, so that its logits are another plane's"
        return Obstacle(reason, f"see {clause.stage}.order", where, rung)
    return None


def _judge_logits(
    clause: Clause,
    subject: str,
    plane: Plane,
    readings: Sequence[LogitComparison],
    governing: Governing,
    fit: PlaneFit | None,
) -> Finding:
    """Judge by the target's own logits: log-probabilities and KL within the tolerance, in the declared reading."""
    bound = governing.logprob
    declared = next(item for item in readings if item.reading == plane.state)
    best = min(readings, key=_distance)
    strays = fit is not None and fit.has_strays
    holds = _distance(declared, strays=strays) <= bound
    normed_otherwise = fit is not None and fit.in_place and fit.found.state not in {plane.state, "branch"}
    say = partial(
        clause.find,
        subject=subject,
        expected=f"log-probabilities within {bound:.3g} of the target's ({governing.dtype}), the state "
        f"{WORDS[plane.state]}",
        where=Where(plane=plane.name),
        rung=Rung.FULL,
        measure=_distance(declared, strays=strays),
        bound=bound,
    )
    if holds and not normed_otherwise:
        note = f"; KL is that of rows that are no state of their tokens (see {clause.stage}.token-shift)"
        return say(Verdict.PASSED, observed=_told(declared) + (note if strays and _distance(declared) > bound else ""))
    return say(
        Verdict.FAILED,
        observed=f"plane {plane.name} is {fit.found}; its logits are the target's either way ({_told(declared)})"
        if holds and fit is not None
        else _tell_readings(plane, declared, best, bound),
        hint=_hint(clause, plane, within=_distance(best) <= bound or normed_otherwise),
    )


def _tell_readings(plane: Plane, declared: LogitComparison, best: LogitComparison, bound: float) -> str:
    """Say which reading of a plane gives the target's logits, if any does."""
    if _distance(best) <= bound:
        return f"the state is {WORDS[best.reading]}: {_told(best)}; {WORDS[plane.state]}, {_told(declared)}"
    return f"no reading gives the target's logits; nearest, {WORDS[best.reading]}: {_told(best)}"


def _judge_text(
    clause: Clause,
    contract: Contract,
    subject: str,
    plane: Plane,
    readings: Sequence[LogitComparison],
    rms: float,
) -> Finding:
    """Judge by the text's likelihood: the declared reading must beat every other, and chance.

    Where readings are too near (a target whose norm weights are even), the norm's weight decides between them.
    """
    declared = next(item for item in readings if item.reading == plane.state)
    others = [item for item in readings if item is not declared]
    best = min(others, key=lambda item: _finite(item.text_nll), default=declared)
    lead = _finite(best.text_nll) - _finite(declared.text_nll)
    chance = math.log(contract.target.vocab_size)
    told = ", ".join(f"{WORDS[item.reading]} {item.text_nll:.3g}" for item in readings)
    weighed = "" if math.isnan(rms) else f"; rms(row / final norm weight) {rms:.3g}"
    say = partial(
        clause.find,
        subject=subject,
        observed=f"negative log-likelihood of the text per token: {told} nats (chance {chance:.3g}){weighed}",
        expected=f"{WORDS[plane.state]} likelier than the other readings by {NLL_MARGIN:g} nats, and than chance; if "
        "readings are nearer, rms(row / final norm weight) to say so",
        where=Where(plane=plane.name),
        rung=Rung.HEAD,
        measure=lead,
        bound=NLL_MARGIN,
    )
    likely = declared.text_nll < chance - NLL_MARGIN
    state = read_norm_state(rms) if abs(lead) < NLL_MARGIN else None
    if likely and (lead >= NLL_MARGIN or state == plane.state):
        note = "decided between norm states only: a boundary just before the last needs the full target"
        return say(Verdict.PASSED, hint=note)
    if best.text_nll < chance and (lead <= -NLL_MARGIN or (state and state != plane.state)):
        return say(Verdict.FAILED, hint=_hint(clause, plane, within=True))
    hint = "the readings cannot be told apart by the text alone; give the full target"
    return say(Verdict.ERRORED, hint=hint)


def _rms(comparison: TargetComparison, index: int) -> float:
    """Give the median of rms(row / final norm weight) of a plane; NaN if the norm has no such weight."""
    values = comparison.norm_vector_rms
    return math.nan if values is None else float(values[index])


def _distance(item: LogitComparison, *, strays: bool = False) -> float:
    """Give the larger of the two distances: of the top tokens, and KL, which the same bound holds for.

    KL is a mean, which a few ``strays`` (rows that are no state of their tokens) decide; then the median alone counts.
    """
    return max(_finite(item.logprob_max), 0.0 if strays else _finite(item.kl))


def _finite(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else math.inf


def _told(item: LogitComparison) -> str:
    agreement = "" if item.argmax_agreement is None else f", argmax agrees at {item.argmax_agreement:.0%}"
    return f"log-probabilities off by {_finite(item.logprob_max):.3g}, KL {_finite(item.kl):.3g}{agreement}"


def _hint(clause: Clause, plane: Plane, *, within: bool) -> str:
    if not within:
        return (
            f"see {clause.stage}.boundary for which boundary it is; if that holds, compare target.norm (eps, "
            "plus_one), logit_scale and logit_softcap with the target's config.json, and the rotary base and scaling "
            "with those that the capture ran with"
        )
    if plane.state == "pre_norm":
        return (
            "the plane is post-norm, and whoever reads it norms it a second time: tap the last layer's output, not "
            'transformers\' hidden_states[n], or declare state = "post_norm" for this format (storage.formats)'
        )
    return (
        "the plane is pre-norm, and whoever reads it never norms it: apply the target's final norm before storing "
        '(vLLM\'s id n is pre-norm), or declare state = "pre_norm" for this format (storage.formats)'
    )
