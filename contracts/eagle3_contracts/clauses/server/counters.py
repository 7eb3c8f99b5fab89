"""Whether the server's counts of one request agree with one another (``server.counters``)."""

from __future__ import annotations

from collections.abc import Iterator

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import OCCASIONS, Answered, every_answer, find_answers, find_role_obstacle
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import Counters, ServerEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

_ROUNDING = 0.01
"""How far a stated accept length may be from the quotient of the counts it is made of: servers round it."""


@names_stand_ins
def check_counters(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail for counts that cannot all be true of one answer; a server that counts nothing cannot be checked."""
    del contract
    obstacle = find_role_obstacle(evidence, "eagle3")
    answers = find_answers(evidence) if obstacle is None else obstacle
    if isinstance(answers, Obstacle):
        return [answers.finding(clause, evidence.subject)]
    every = list(every_answer(evidence))
    bare = [f"{item.name}{OCCASIONS[run]}" for run, item in every if not _counts(item.answer.counters)]
    longest = find_longest(evidence)
    told = [f"{item.name}{OCCASIONS[run]}: {text}" for run, item in every for text in _contradictions(item, longest)]
    if bare and not told:
        reason = f"{len(bare)} of {say_count(len(every), 'answer')} without rounds and histogram, {bare[0]} first"
        return [Obstacle(reason, "see server.algorithm; older engines do not count").finding(clause, evidence.subject)]
    counted = [item for _, item in every]
    rounds = sum(item.answer.counters.rounds or 0 for item in counted if item.answer.counters)
    agree = f"rounds, histogram, accept length and tokens agree in {say_count(len(counted), 'answer')}, {rounds} rounds"
    return [
        clause.find(
            Verdict.FAILED if told else Verdict.PASSED,
            evidence.subject,
            observed="; ".join(told[:3]) + (f"; and {len(told) - 3} more" if len(told) > 3 else "") or agree,
            measure=float(len(told)),
            bound=0.0,
            hint="take no accept length from this server: recompute it as tokens given per round, over all requests "
            "together, and look for rounds counted past the end or for another request"
            if told
            else "",
        )
    ]


def _counts(counters: Counters | None) -> bool:
    return counters is not None and counters.rounds is not None and counters.accepted is not None


def find_longest(evidence: ServerEvidence) -> int | None:
    """Give how many drafted tokens one round can accept: the depth of the draft."""
    arguments = evidence.arguments
    if arguments is None:
        return None
    depths = [
        value for value in (arguments.steps, (arguments.draft_tokens or 0) - 1) if value is not None and value > 0
    ]
    return min(depths, default=None)


def _contradictions(item: Answered, longest: int | None) -> Iterator[str]:
    """Say what cannot be true together. The prompt's own forward gives one token before the first round."""
    counters = item.answer.counters
    if counters is None or counters.rounds is None or counters.accepted is None:
        return
    rounds, accepted = counters.rounds, counters.accepted
    if sum(accepted) != rounds:
        yield f"the histogram {list(accepted)} counts {sum(accepted)} rounds, the server {rounds}"
    deepest = max((depth for depth, count in enumerate(accepted) if count), default=0)
    if longest is not None and deepest > longest:
        yield f"a round accepted {deepest} drafted tokens, where {longest} are drafted in a row"
    given = counters.completion_tokens if counters.completion_tokens is not None else len(item.answer.output_ids)
    if given != len(item.answer.output_ids):
        yield f"{given} tokens are counted, {len(item.answer.output_ids)} came"
    emitted = 1 + sum(count * (depth + 1) for depth, count in enumerate(accepted))
    if not emitted - deepest <= given <= emitted:
        yield f"{given} tokens came, where rounds and accepted tokens make {emitted} (the last round may be cut)"
    stated = counters.accept_length
    low, high = (given - 1) / max(rounds, 1), emitted / max(rounds, 1)
    if stated is not None and not low - _ROUNDING <= stated <= high + _ROUNDING:
        made = f"{given} tokens in {say_count(rounds, 'round')} make {low:.3g} to {high:.3g}"
        yield f"the accept length is stated as {stated:.3g}, and {made}"
