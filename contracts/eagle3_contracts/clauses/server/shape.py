"""Where acceptance is lost: at the first position, from position to position, along the text.

The three shapes tell faults apart (``server.acceptance-shape``): what the drafter is fed is wrong from the first
position on; what a step hands to the next, and in which norm, costs the later ones only; wrong rotary positions cost
more the longer the text is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eagle3_contracts.clauses.bounds import FIRST_ACCEPTED, LEAST_ROUNDS, STEEPEST, SURE
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.acceptance import Comparable, Histogram, find_comparable, pool
from eagle3_contracts.clauses.server.asking import Answered, find_answers, find_role_obstacle
from eagle3_contracts.clauses.server.counters import find_longest
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict
from eagle3_contracts.registry import Clause

TAPS = (
    "the first position is low: the drafter is fed other planes, or in another order, than it was trained with, or d2t "
    "is misread (see server.boundary and server.order); an under-trained drafter looks the same where nothing is "
    "predicted"
)
DECAY = (
    "the first position is as it should be and the later ones decay too fast: what a step hands to the next, or its "
    "norm, is not as in training (drafter.recurrent, norm_output), or keys of drafted tokens are lost"
)
ROPE = (
    "short texts are as they should be and longer ones are not: rotary base, scaling or layout, or positions beyond "
    "those that the drafter was trained for (drafter.rope, drafter.max_position)"
)


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a position is reached, and accepted."""

    tried: int
    accepted: int

    @property
    def share(self) -> float:
        """The share that was accepted."""
        return self.accepted / self.tried if self.tried else 0.0

    def is_below(self, other: Rate) -> bool:
        """Tell whether the share is lower than another beyond chance (two proportions, one-sided)."""
        if not self.tried or not other.tried or self.share >= other.share:
            return False
        mean = (self.accepted + other.accepted) / (self.tried + other.tried)
        spread = math.sqrt(mean * (1 - mean) * (1 / self.tried + 1 / other.tried))
        return (other.share - self.share) / spread > SURE


def rates_of(histogram: Sequence[int], positions: int = 0) -> tuple[Rate, ...]:
    """Give the rate of each position, of those rounds that accepted all positions before it.

    ``positions``: drafted in a row at least. Engines leave zeros at the end of a histogram out, so that a position at
    which nothing was ever accepted shows in nothing else.
    """
    return tuple(
        Rate(tried, sum(histogram[depth + 1 :]))
        for depth in range(max(len(histogram) - 1, positions))
        if (tried := sum(histogram[depth:]))
    )


@names_stand_ins
def check_acceptance_shape(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Violated by a low first position, a decay that is too fast, or a text that is good up to a length only."""
    found = find_comparable(contract, evidence)
    answers = find_answers(evidence)
    obstacle = find_role_obstacle(evidence, "eagle3") or (answers if isinstance(answers, Obstacle) else None)
    if obstacle is not None or isinstance(answers, Obstacle):
        return [obstacle.finding(clause, evidence.subject)] if obstacle is not None else []
    counted = [
        (item, counters.accepted) for item in answers if (counters := item.answer.counters) and counters.accepted
    ]
    served = pool(histogram for _, histogram in counted)
    if sum(served) < LEAST_ROUNDS:
        reason = f"{sum(served)} rounds were counted; a shape needs {LEAST_ROUNDS}"
        return [Obstacle(reason, "see server.counters, or ask for longer texts").finding(clause, evidence.subject)]
    if isinstance(found, Obstacle):
        return [_judge_alone(clause, evidence, counted, served)]
    return [_judge_beside(clause, evidence, found)]


def _judge_beside(clause: Clause, evidence: ServerEvidence, found: Sequence[Comparable]) -> Finding:
    """Judge against the prediction: only what is lower than predicted, beyond chance, is a loss."""
    served, predicted = pool(item.served for item in found), pool(item.predicted for item in found)
    own, wanted = rates_of(served, len(predicted) - 1), rates_of(predicted)
    low = [depth for depth, (one, other) in enumerate(zip(own, wanted, strict=False)) if one.is_below(other)]
    told = f"accepted by position {_say(own)}, predicted {_say(wanted)}"
    halves = _halves(found)
    if halves is not None:
        near, far, shortest = halves
        if far.is_lost and not near.is_lost:
            told += f"; prompts of {shortest} tokens and more accept {far.served.share:.0%} at the first "
            told += f"position, {far.predicted.share:.0%} predicted"
            return _lost(clause, evidence, told, ROPE, far.served.share, far.predicted.share)
    if low:
        at = low[0]
        return _lost(clause, evidence, told, TAPS if at == 0 else DECAY, own[at].share, wanted[at].share)
    return clause.find(
        Verdict.PASSED,
        evidence.subject,
        observed=f"{told} ({sum(served)} rounds)",
        rung=Rung.FULL,
        measure=own[0].share if own else None,
        bound=wanted[0].share if wanted else None,
    )


@dataclass(frozen=True, slots=True)
class _Half:
    """The first position of half of the probes."""

    served: Rate
    predicted: Rate

    @property
    def is_lost(self) -> bool:
        """Tell whether fewer are accepted than predicted."""
        return self.served.is_below(self.predicted)


def _halves(found: Sequence[Comparable]) -> tuple[_Half, _Half, int] | None:
    """Part the probes by length: the shorter half, the longer one and its least; None where all are of one length."""
    ordered = sorted(found, key=lambda item: len(item.item.probe.token_ids))
    lengths = [len(item.item.probe.token_ids) for item in ordered]
    middle = len(ordered) // 2
    if not middle or lengths[0] == lengths[-1]:
        return None
    return _half(ordered[:middle]), _half(ordered[middle:]), lengths[middle]


def _half(part: Sequence[Comparable]) -> _Half:
    served, predicted = pool(item.served for item in part), pool(item.predicted for item in part)
    return _Half(Rate(sum(served), sum(served[1:])), Rate(sum(predicted), sum(predicted[1:])))


def _judge_alone(
    clause: Clause, evidence: ServerEvidence, counted: Sequence[tuple[Answered, Histogram]], served: Histogram
) -> Finding:
    """Judge without a prediction: only shapes that no sound drafter was seen to have."""
    own = rates_of(served, find_longest(evidence) or 1)
    told = f"accepted by position {_say(own)} ({sum(served)} rounds, {len(counted)} answers); no prediction to compare"
    first = own[0]
    if first.share < FIRST_ACCEPTED:
        return _lost(clause, evidence, told, TAPS, first.share, FIRST_ACCEPTED)
    later = own[1] if len(own) > 1 else None
    if later is not None and later.tried >= LEAST_ROUNDS and later.share < first.share * STEEPEST:
        return _lost(clause, evidence, told, DECAY, later.share, first.share * STEEPEST)
    return clause.find(Verdict.PASSED, evidence.subject, observed=told, measure=first.share, bound=FIRST_ACCEPTED)


def _lost(clause: Clause, evidence: ServerEvidence, told: str, hint: str, measure: float, bound: float) -> Finding:
    return clause.find(Verdict.FAILED, evidence.subject, observed=told, measure=measure, bound=bound, hint=hint)


def _say(rates: Sequence[Rate]) -> str:
    return ", ".join(f"{rate.share:.0%}" for rate in rates) or "nothing"
