"""How many drafted tokens are accepted, against the simulation of the drafter (``server.accepted-tokens``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eagle3_contracts.clauses.bounds import ACCEPTANCE_SHARE, LEAST_ROUNDS
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import Answered, find_answers, find_reference_obstacle, find_role_obstacle
from eagle3_contracts.clauses.server.likelihoods import common_length
from eagle3_contracts.clauses.server.precision import governing_served, served_dtypes
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict
from eagle3_contracts.registry import Clause

Histogram = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparable:
    """One answer's histogram, and the one that was predicted for the very text that was served."""

    item: Answered
    served: Histogram
    predicted: Histogram


@names_stand_ins
def check_accepted_tokens(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if a histogram is another than the simulation's: any difference in float32, a larger share in less."""
    found = find_comparable(contract, evidence)
    if isinstance(found, Obstacle):
        return [found.finding(clause, evidence.subject)]
    dtypes = set(served_dtypes(evidence).values())
    return [_judge_exactly(clause, evidence, found) if dtypes == {"float32"} else _judge_share(clause, evidence, found)]


def find_comparable(contract: Contract, evidence: ServerEvidence) -> list[Comparable] | Obstacle:
    """Give the answers with both histograms, of one text; or why there are none.

    A text that is clearly another than the target's says nothing of the drafter.
    """
    answers = find_answers(evidence)
    obstacle = find_role_obstacle(evidence, "eagle3")
    if obstacle is not None:
        return obstacle
    if isinstance(answers, Obstacle):
        return answers
    predictions = [item.probe.prediction for item in answers]
    if not any(predictions):
        return find_reference_obstacle(evidence)
    if not any(item is not None and item.accepted is not None for item in predictions):
        reasons = dict.fromkeys(item.unpredicted for item in predictions if item is not None and item.unpredicted)
        hint = "check where the drafter's folder is, so that it can be run here"
        return Obstacle("; ".join(reasons) or "the drafter served could not be simulated", hint, skips=True)
    governing = governing_served(contract, evidence)
    if isinstance(governing, Obstacle):
        return governing
    found = [
        Comparable(item, counters.accepted, accepted)
        for item in answers
        if (accepted := _foretold(item, 2 * governing.logprob)) is not None
        and (counters := item.answer.counters) is not None
        and counters.accepted is not None
    ]
    return found or Obstacle(
        "no answer has both a histogram and a text that may be the target's",
        "see server.counters and server.greedy-text",
    )


def _foretold(item: Answered, noise: float) -> Histogram | None:
    """Give the histogram predicted for the text that was served, if that is the target's as far as it can be told."""
    prediction, served = item.probe.prediction, item.answer.output_ids
    if prediction is None:
        return None
    same = common_length(served, prediction.output_ids)
    if len(served) != len(prediction.output_ids):
        return None
    if same == len(served):
        return prediction.accepted
    clear = same >= len(prediction.gaps) or prediction.gaps[same] > noise
    return None if clear else prediction.accepted_as_served


def pool(histograms: Iterable[Sequence[int]]) -> Histogram:
    """Add histograms up, the shorter ones filled with zeros."""
    rows = [tuple(row) for row in histograms]
    width = max((len(row) for row in rows), default=0)
    return tuple(sum(row[depth] if depth < len(row) else 0 for row in rows) for depth in range(width))


def accept_length(histogram: Sequence[int]) -> float:
    """Give the tokens per round, the target's own one included."""
    rounds = sum(histogram)
    return 1 + sum(depth * count for depth, count in enumerate(histogram)) / rounds if rounds else 0.0


def _judge_exactly(clause: Clause, evidence: ServerEvidence, found: Sequence[Comparable]) -> Finding:
    wrong = [item for item in found if trim(item.served) != trim(item.predicted)]
    served, predicted = pool(item.served for item in found), pool(item.predicted for item in found)
    told = (
        f"accepted per round {list(served)}, predicted {list(predicted)} (float32, {say_count(len(found), 'answer')})"
    )
    if wrong:
        first = wrong[0]
        told = (
            f"{first.item.name}: accepted per round {list(first.served)}, predicted {list(first.predicted)}; "
            f"{len(wrong)} of {len(found)} answers so, accept length {accept_length(served):.3f} instead of "
            f"{accept_length(predicted):.3f}"
        )
    return clause.find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        evidence.subject,
        observed=told,
        expected="exactly what the drafter's simulation accepts, in float32",
        rung=Rung.FULL,
        measure=float(len(wrong)),
        bound=0.0,
        hint=_HINT if wrong else "",
    )


def _judge_share(clause: Clause, evidence: ServerEvidence, found: Sequence[Comparable]) -> Finding:
    served, predicted = pool(item.served for item in found), pool(item.predicted for item in found)
    if min(sum(served), sum(predicted)) < LEAST_ROUNDS:
        reason = f"{sum(served)} rounds, {sum(predicted)} predicted; below float32 a verdict needs {LEAST_ROUNDS}"
        return Obstacle(reason, "ask for longer texts, or serve in float32").finding(clause, evidence.subject)
    share = _difference(served, predicted)
    failed = share > ACCEPTANCE_SHARE
    return clause.find(
        Verdict.FAILED if failed else Verdict.PASSED,
        evidence.subject,
        observed=f"accepted per round {list(served)}, predicted in float32 {list(predicted)}: {share:.1%} of the "
        f"rounds elsewhere, accept length {accept_length(served):.3f} instead of {accept_length(predicted):.3f}",
        expected=f"at most {ACCEPTANCE_SHARE:.0%} of the rounds elsewhere than in float32",
        rung=Rung.FULL,
        measure=share,
        bound=ACCEPTANCE_SHARE,
        hint=_HINT if failed else "",
    )


def _difference(served: Histogram, predicted: Histogram) -> float:
    """Give the share of rounds that accept another number than predicted (total variation)."""
    one, other = sum(served), sum(predicted)
    width = max(len(served), len(predicted))
    rows = [(*row, *([0] * (width - len(row)))) for row in (served, predicted)]
    return float(sum(abs(a / one - b / other) for a, b in zip(*rows, strict=True))) / 2


def trim(histogram: Histogram) -> Histogram:
    """Leave out the zeros at the end, which engines give or not."""
    deepest = max((depth for depth, count in enumerate(histogram) if count), default=-1)
    return histogram[: deepest + 1]


_HINT = (
    "the server does not run the contract's drafter as it was trained: see server.boundary and server.order for what "
    "it is fed, server.acceptance-shape for where it loses, and the stage checkpoint for its weights and positions"
)
