"""Where the planes that the drafter is fed lie in the target: boundary, order, token shift, final state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from eagle3_contracts.clauses.boundary import judge_boundary
from eagle3_contracts.clauses.final_states import judge_final_states
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.order import judge_order
from eagle3_contracts.clauses.rows import list_damaged
from eagle3_contracts.clauses.server.asking import (
    Answered,
    every_answer,
    expected_planes,
    find_role_obstacle,
    find_states_obstacle,
)
from eagle3_contracts.clauses.server.ids import write_ids
from eagle3_contracts.clauses.server.precision import governing_served
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.server.states import find_records
from eagle3_contracts.clauses.shift import judge_shift
from eagle3_contracts.clauses.states import Placement, locate_planes
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import TargetComparison
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import Clause


@names_stand_ins
def check_boundary(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if a plane is another boundary than declared, and write the ids that this version wants instead."""

    def judge(placement: Placement) -> list[Finding]:
        found = judge_boundary(clause, contract, evidence.subject, placement, residual_apart=False)
        ids = write_ids(contract, evidence, placement)
        return [_add_ids(item, ids) for item in found]

    return _judge_placed(clause, contract, evidence, judge, planes_only=True)


def _add_ids(finding: Finding, ids: str) -> Finding:
    """Write the ids of the version served where the hint has those of all tools."""
    if finding.verdict is not Verdict.FAILED or finding.level is Level.SHOULD or not ids:
        return finding
    cause = finding.hint.partition(". Ids that count boundaries")[0]
    return dataclasses.replace(finding, hint=f"{cause}\n{ids}")


@names_stand_ins
def check_order(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if declared planes come in another order."""

    def judge(placement: Placement) -> list[Finding]:
        return [_add_ids(judge_order(clause, evidence.subject, placement), write_ids(contract, evidence, placement))]

    return _judge_placed(clause, contract, evidence, judge, planes_only=True)


@names_stand_ins
def check_token_shift(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if row t of an answer is the state of another token than t."""

    def judge(placement: Placement) -> list[Finding]:
        records = find_records(contract, evidence)
        planes = expected_planes(contract, evidence)
        excused = () if isinstance(records, Obstacle) else list_damaged(planes, records)
        return [judge_shift(clause, evidence.subject, placement, excused)]

    return _judge_placed(clause, contract, evidence, judge)


@names_stand_ins
def check_final_state(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if logits rebuilt from a final state, read as the engine gives it, are not the target's."""
    comparison = _find_comparison(contract, evidence)
    if isinstance(comparison, Obstacle):
        return [comparison.finding(clause, evidence.subject)]
    planes = expected_planes(contract, evidence)
    if not any(plane.is_final for plane in planes):
        reason = "the drafter is fed no final state, and a server of this kind returns no other; a plain one shows it"
        return [Obstacle(reason, skips=True).finding(clause, evidence.subject)]
    table = next((item.answer.rows for _, item in every_answer(evidence) if item.answer.rows is not None), None)
    count = table.shape[1] // contract.target.hidden_size if table is not None else 0
    governing = governing_served(contract, evidence)
    placement = locate_planes(planes, comparison, governing)
    if count != len(planes):
        return [
            Obstacle(f"{count} planes came, {len(planes)} are expected", "see server.width").finding(
                clause, evidence.subject
            )
        ]

    def judge(held: TargetComparison, place: Placement | Obstacle) -> list[Finding]:
        return judge_final_states(clause, contract, evidence.subject, planes, count, held, governing, place)

    findings = judge(comparison, placement)
    if evidence.later is None or not _sound(findings):
        return findings
    return [*findings, *_of_later_rows(judge(evidence.later, locate_planes(planes, evidence.later, governing)))]


def _find_comparison(contract: Contract, evidence: ServerEvidence) -> TargetComparison | Obstacle:
    """Give what holding the rows against the target showed, or why that could not be done."""
    obstacle = find_states_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    if evidence.comparison is not None:
        return evidence.comparison
    problem = first_problem(evidence.problems, "target", "needs")
    if problem is not None:
        return from_problem(problem)
    if any(_is_odd(item, contract) for _, item in every_answer(evidence)):
        reason = "rows are missing or of another width, so that none can be held against its own token"
        return Obstacle(reason, "see server.rows and server.width")
    return NO_TARGET


def _is_odd(item: Answered, contract: Contract) -> bool:
    rows = item.answer.rows
    return rows is not None and (
        len(rows) != len(item.probe.token_ids) or rows.shape[1] % contract.target.hidden_size != 0
    )


def _judge_placed(
    clause: Clause,
    contract: Contract,
    evidence: ServerEvidence,
    judge: Callable[[Placement], list[Finding]],
    *,
    planes_only: bool = False,
) -> list[Finding]:
    """Judge planes once they are located, or say why they cannot be; a plain server shows no auxiliary planes."""
    obstacle = find_role_obstacle(evidence, "eagle3", "capture") if planes_only else None
    comparison = _find_comparison(contract, evidence) if obstacle is None else obstacle
    if isinstance(comparison, Obstacle):
        return [comparison.finding(clause, evidence.subject)]
    planes, governing = expected_planes(contract, evidence), governing_served(contract, evidence)
    placement = locate_planes(planes, comparison, governing)
    if isinstance(placement, Obstacle):
        return [placement.finding(clause, evidence.subject)]
    findings = judge(placement)
    later = locate_planes(planes, evidence.later, governing) if evidence.later is not None else None
    if later is None or isinstance(later, Obstacle) or not _sound(findings):
        return findings
    return [*findings, *_of_later_rows(judge(later))]


def _sound(findings: list[Finding]) -> bool:
    return all(item.verdict is Verdict.PASSED for item in findings)


def _of_later_rows(findings: list[Finding]) -> list[Finding]:
    """Keep what is wrong with rows of generated tokens alone, and say that the prompts' are right."""
    told = "rows of generated tokens, where those of prompts are right: "
    cause = (
        "the prompt's forward captures what is declared and a later one does not: look at captures in a round of "
        "verification and in a replayed graph (--disable-cuda-graph tells them apart)"
    )
    return [
        dataclasses.replace(item, observed=f"{told}{item.observed}", hint=f"{cause}; {item.hint}")
        for item in findings
        if item.verdict is Verdict.FAILED
    ]
