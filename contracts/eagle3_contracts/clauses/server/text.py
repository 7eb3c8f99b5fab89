"""Greedy text: the target's own choices, wherever they are clear (``server.greedy-text``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eagle3_contracts.clauses.bounds import LEAST_CHOICES
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import Answered, find_predictions
from eagle3_contracts.clauses.server.likelihoods import common_length
from eagle3_contracts.clauses.server.precision import governing_served
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServedPrediction, ServerEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause


@dataclass(frozen=True, slots=True)
class _Reading:
    """One answer against the target's text. ``clear``: positions counted. ``parts``: where the texts part, if so."""

    item: Answered
    prediction: ServedPrediction
    clear: int
    parts: int | None
    gap: float


@names_stand_ins
def check_greedy_text(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail at the first token that is another than the target's where its two best are further apart than noise."""
    known = find_predictions(evidence)
    governing = governing_served(contract, evidence)
    if isinstance(known, Obstacle):
        return [known.finding(clause, evidence.subject)]
    if isinstance(governing, Obstacle):
        return [governing.finding(clause, evidence.subject)]
    noise = 2 * governing.logprob
    readings = [_read(item, prediction, noise) for item, prediction in known]
    clear, total = sum(reading.clear for reading in readings), sum(len(item.answer.output_ids) for item, _ in known)
    counted = f"{clear} of {total} positions counted, where the target's two best are more than {noise:.3g} apart"
    wrong = [reading for reading in readings if reading.parts is not None and reading.gap > noise]
    if not wrong and clear < LEAST_CHOICES:
        reason = f"{counted}; a verdict needs {LEAST_CHOICES}"
        obstacle = Obstacle(reason, "ask for longer texts, or serve in a higher precision", rung=Rung.FULL)
        return [obstacle.finding(clause, evidence.subject)]
    told = f"{_say_parting(wrong[0])}; {say_count(len(wrong), 'probe')} so" if wrong else _say_same(readings)
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=f"{told}; {counted}",
            expected=f"the target's greedy text ({governing.dtype})",
            where=Where(token=wrong[0].parts) if wrong else Where(),
            rung=Rung.FULL,
            measure=wrong[0].gap if wrong else 0.0,
            bound=noise,
            hint=_hint(evidence) if wrong else "",
        )
    ]


def _say_same(readings: Sequence[_Reading]) -> str:
    parted = [reading for reading in readings if reading.parts is not None]
    if not parted:
        return "the same text"
    return (
        f"the same text up to {say_count(len(parted), 'parting')} where the choice is not clear "
        f"({_say_parting(parted[0])})"
    )


def _read(item: Answered, prediction: ServedPrediction, noise: float) -> _Reading:
    served, own = item.answer.output_ids, prediction.output_ids
    same = common_length(served, own)
    clear = int((prediction.gaps[:same] > noise).sum())
    if same == len(served) < len(own) and item.answer.finish != "length":
        return _Reading(item, prediction, clear, same, math.inf)
    if same == min(len(served), len(own)):
        return _Reading(item, prediction, clear, None, 0.0)
    return _Reading(item, prediction, clear, same, float(prediction.gaps[same]))


def _say_parting(reading: _Reading) -> str:
    at = reading.parts or 0
    if at == len(reading.item.answer.output_ids):
        why = reading.item.answer.finish[:40] or "no reason given"
        return (
            f"{reading.item.name}: the text ends after {at} of the {len(reading.prediction.output_ids)} tokens asked "
            f"for ({why}), where an end of text was to be ignored"
        )
    return (
        f"{reading.item.name}, output {at}: token {reading.item.answer.output_ids[at]}, where the target's own choice "
        f"is {reading.prediction.output_ids[at]} by {reading.gap:.3g} nats"
    )


def _hint(evidence: ServerEvidence) -> str:
    if evidence.role == "eagle3":
        return (
            "ask the same of a server without --speculative-algorithm: if that gives the target's text, verification "
            "accepts tokens that the target did not choose (positions, tree mask, KV slots); if not, see "
            "server.logprobs"
        )
    return (
        "nothing is drafted here, so that the target itself is another one or computes otherwise: see server.logprobs"
    )
