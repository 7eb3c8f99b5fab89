"""Recorded log-probabilities: from the recorded final state, and against the target's own."""

from __future__ import annotations

from collections.abc import Iterator

from eagle3_contracts.clauses.bounds import ROW_FACTOR
from eagle3_contracts.clauses.golden.judging import (
    RECORD,
    STATES,
    Defect,
    add_unlooked,
    find_target_obstacle,
    find_values_obstacle,
    state,
)
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.tolerances import Governing, governing_tolerance
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import GoldenEvidence, LogitAgreement
from eagle3_contracts.findings import Finding, Rung, Where
from eagle3_contracts.registry import Clause

_AGAINST = {"state": "rebuilt from the recorded final state", "target": "that the target gives now"}


def check_logits(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail where recorded log-probabilities differ from those rebuilt from the final state, or from the target's.

    Over the ten most likely recorded tokens: median over rows within the contract's ``logprob_max``, every row within
    ``ROW_FACTOR`` of it. The mean divergence must lie within ``logprob_max`` as well, as it does if all
    log-probabilities do.
    """
    obstacle = find_values_obstacle(evidence, STATES)
    if obstacle is None and not evidence.logits:
        obstacle = find_target_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    found: list[Finding] = []
    for item in evidence.logits:
        governing = governing_tolerance(contract, item.dtypes)
        if isinstance(governing, Obstacle):
            found.append(governing.finding(clause, evidence.subject))
            continue
        found += _judge(clause, evidence, item, governing)
    found += _find_unread(clause, evidence)
    return add_unlooked(clause, evidence, found, list(evidence.uncompared.values()))


def _judge(clause: Clause, evidence: GoldenEvidence, item: LogitAgreement, governing: Governing) -> list[Finding]:
    bound, which = governing.logprob, _AGAINST[item.against]
    counted = f"{item.sequences} of {say_count(len(evidence.sequences), 'sequence')}, {say_count(item.tokens, 'row')}"
    sound = (
        f"{item.dtypes[0]}, {item.form}: log-probabilities {which} agree within {item.logprob_max:.2g} in the median, "
        f"{item.worst.value:.2g} at the worst row, KL {item.kl:.2g} nats ({counted})"
    )
    expected = f"within {bound:g} ({governing.dtype}), single rows within {ROW_FACTOR * bound:g}, KL within {bound:g}"
    defects = list(_find_defects(item, bound, which))[:1]
    rung = Rung.FULL if item.against == "target" else Rung.HEAD
    return state(
        clause, evidence, defects, sound=sound, expected=expected, rung=rung, measure=item.logprob_max, bound=bound
    )


def _find_defects(item: LogitAgreement, bound: float, which: str) -> Iterator[Defect]:
    told, row = f"{item.dtypes[0]}, {item.form}: log-probabilities {which}", item.worst
    where = Where(file=STATES.file, token=row.token, tensor=f"{row.sequence}.logits")
    hint = {
        "state": f"computed from another state (before the norm, of another step), or the state is another: {RECORD}",
        "target": f"other weights or a stale recording: see golden.contract, and {RECORD}",
    }[item.against]
    if not item.logprob_max <= bound:
        yield Defect(f"{told} differ by {item.logprob_max:.2g} in the median", where, hint, item.logprob_max, bound)
    if not item.kl <= bound:
        yield Defect(f"{told} diverge by {item.kl:.2g} nats in the mean", where, hint, item.kl, bound)
    if not row.value <= ROW_FACTOR * bound:
        observed = f"{told} differ by {row.value:.2g} at row {row.token} of sequence {row.sequence}"
        yield Defect(observed, where, hint, row.value, ROW_FACTOR * bound)


def _find_unread(clause: Clause, evidence: GoldenEvidence) -> list[Finding]:
    """Say that the target could not give logits of its own, or the head was not there to rebuild any."""
    if {item.against for item in evidence.logits} >= {"state", "target"}:
        return []
    told = first_problem(evidence.problems, "target", "needs")
    unread = from_problem(told) if told else Obstacle("the target at hand gives no logits of its own")
    return [unread.finding(clause, evidence.subject)]
