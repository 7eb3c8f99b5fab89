"""Where stored planes lie in the target: boundary, order, token shift, final state."""

from __future__ import annotations

from collections.abc import Callable

from eagle3_contracts.clauses.boundary import judge_boundary
from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.dataset.identity import others_states
from eagle3_contracts.clauses.dataset.shapes import stored_dtypes
from eagle3_contracts.clauses.final_states import judge_final_states
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle
from eagle3_contracts.clauses.order import judge_order
from eagle3_contracts.clauses.rows import list_damaged
from eagle3_contracts.clauses.shift import judge_shift
from eagle3_contracts.clauses.states import Placement, locate_planes
from eagle3_contracts.clauses.tolerances import governing_tolerance
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import Clause


def check_boundary(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if a plane is another boundary than declared, or lacks its residual."""

    def judge(placement: Placement) -> list[Finding]:
        return judge_boundary(clause, contract, evidence.subject, placement, residual_apart=False)

    return _judge_placed(clause, contract, evidence, judge)


def check_order(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if declared planes lie in another order."""

    def judge(placement: Placement) -> list[Finding]:
        return [judge_order(clause, evidence.subject, placement)]

    return _judge_placed(clause, contract, evidence, judge)


def check_token_shift(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if row t of a plane is the state of another token than t; whole samples of others are ``identity``'s."""

    def judge(placement: Placement) -> list[Finding]:
        excused = list_damaged(contract.stored_planes(evidence.format), evidence.planes)
        if evidence.strangers:
            excused = tuple(fit.plane.name for fit in placement.fits)
        return [judge_shift(clause, evidence.subject, placement, excused)]

    return _judge_placed(clause, contract, evidence, judge)


def check_final_state(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if logits rebuilt from a final state, read as declared, are not the target's."""
    obstacle = find_obstacle(evidence) or others_states(evidence)
    if obstacle is not None or evidence.comparison is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    planes = contract.stored_planes(evidence.format)
    governing = governing_tolerance(contract, stored_dtypes(contract, evidence))
    placement = locate_planes(planes, evidence.comparison, governing)
    return judge_final_states(
        clause, contract, evidence.subject, planes, len(evidence.planes), evidence.comparison, governing, placement
    )


def _judge_placed(
    clause: Clause, contract: Contract, evidence: DatasetEvidence, judge: Callable[[Placement], list[Finding]]
) -> list[Finding]:
    """Judge planes once they are located, or say why they cannot be."""
    obstacle = find_obstacle(evidence) or others_states(evidence)
    if obstacle is not None or evidence.comparison is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    governing = governing_tolerance(contract, stored_dtypes(contract, evidence))
    placement = locate_planes(contract.stored_planes(evidence.format), evidence.comparison, governing)
    if isinstance(placement, Obstacle):
        return [placement.finding(clause, evidence.subject)]
    return judge(placement)
