"""Recorded boundaries and final state against the target, run now by another route."""

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
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.tolerances import Governing, governing_tolerance
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import GoldenEvidence, StateAgreement
from eagle3_contracts.findings import Finding, Rung, Where
from eagle3_contracts.registry import Clause


def check_states(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for each dtype in which a recorded plane is further from the target's than the contract's tolerance.

    The median over rows must lie within it, and every single row within ``ROW_FACTOR`` of it; sinks are left out and
    counted. A route that recorded the states itself proves nothing of them.
    """
    obstacle = find_values_obstacle(evidence, STATES)
    if obstacle is None and not evidence.states:
        obstacle = find_target_obstacle(evidence)
    if obstacle is None and set(evidence.routes) <= {evidence.route}:
        route = evidence.route
        told = f"the one route at hand, {route}, is the one that recorded it: that it repeats itself proves nothing"
        obstacle = Obstacle(told, "install the other one: pip install 'eagle3-contracts[torch]'", rung=Rung.FULL)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    found: list[Finding] = []
    for item in evidence.states:
        governing = governing_tolerance(contract, [item.dtype])
        if isinstance(governing, Obstacle):
            found.append(governing.finding(clause, evidence.subject))
            continue
        found += _judge(clause, evidence, item, governing)
    return add_unlooked(clause, evidence, found, list(evidence.uncompared.values()))


def _judge(clause: Clause, evidence: GoldenEvidence, item: StateAgreement, governing: Governing) -> list[Finding]:
    bound, routes = governing.relative_l2, " and ".join(evidence.routes)
    defects = [defect for at in range(len(item.median)) for defect in _judge_plane(item, at, bound)]
    if len(defects) > 3:
        defects = [_sum_up(defects, len(item.median))]
    largest, worst = max(item.median), max(row.value for row in item.worst)
    counted = f"{item.sequences} of {say_count(len(evidence.sequences), 'sequence')}, {say_count(item.tokens, 'row')}"
    counted += f", {say_count(item.sinks, 'sink')} left out" if item.sinks else ""
    sound = (
        f"{item.dtype}: all {len(item.median)} planes within {largest:.2g} in the median, {worst:.2g} at the worst row "
        f"({counted}; computed by {routes}, recorded by {evidence.route or 'an unnamed route'})"
    )
    expected = f"medians within {bound:g} ({governing.dtype}), single rows within {ROW_FACTOR * bound:g}"
    return state(
        clause, evidence, defects, sound=sound, expected=expected, rung=Rung.FULL, measure=largest, bound=bound
    )


def _judge_plane(item: StateAgreement, at: int, bound: float) -> Iterator[Defect]:
    last = len(item.median) - 1
    name = "the final state" if at == last else f"boundary {at}"
    part = f"{item.worst[at].sequence}.{'final' if at == last else 'boundaries'}"
    if not item.median[at] <= bound:
        like = f": it is {item.nearest[at]}" if item.nearest[at] else ""
        told = f"{item.dtype}: recorded {name} is {item.median[at]:.2g} off in the median{like}"
        yield Defect(told, Where(file=STATES.file, plane=name), _hint(item.nearest[at]), item.median[at], bound)
    elif not item.worst[at].value <= ROW_FACTOR * bound:
        row = item.worst[at]
        told = f"{item.dtype}: row {row.token} of sequence {row.sequence} of {name} is {row.value:.2g} off"
        where = Where(file=STATES.file, token=row.token, tensor=part)
        hint = f"one row of another token or request: {RECORD}"
        yield Defect(told, where, hint, row.value, ROW_FACTOR * bound)


def _hint(nearest: str) -> str:
    if nearest:
        return f"what recorded it numbers layers otherwise, or norms where it should not: mend that, and {RECORD}"
    return f"other weights, other token ids or a stale recording: see golden.contract, and {RECORD}"


def _sum_up(defects: list[Defect], planes: int) -> Defect:
    """Tell many planes at once, the worst of them in full."""
    worst = max(defects, key=lambda defect: defect.measure / defect.bound)
    return worst._replace(observed=f"{worst.observed}; {len(defects)} of {planes} planes are off")
