"""Where captured planes lie in the target: boundary, order, residual, token shift, final state."""

from __future__ import annotations

from collections.abc import Callable

from eagle3_contracts.clauses.boundary import judge_boundary
from eagle3_contracts.clauses.capture.answers import find_obstacle
from eagle3_contracts.clauses.capture.content import record_rows
from eagle3_contracts.clauses.final_states import judge_final_states
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle
from eagle3_contracts.clauses.order import judge_order
from eagle3_contracts.clauses.residual import judge_residual
from eagle3_contracts.clauses.rows import list_damaged
from eagle3_contracts.clauses.shift import judge_shift
from eagle3_contracts.clauses.states import Placement, locate_planes
from eagle3_contracts.clauses.tolerances import governing_tolerance
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CaptureEvidence
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import Clause


def captured_dtypes(evidence: CaptureEvidence) -> list[str]:
    """Give every dtype that the states went through: what was computed in, and what came back."""
    returned = [name for request in evidence.alone for name in request.dtype.split("/")]
    return [evidence.compute_dtype, *returned]


def check_boundary(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a plane is another boundary than declared; a missing residual is ``capture.residual``'s."""

    def judge(placement: Placement) -> list[Finding]:
        return judge_boundary(clause, contract, evidence.subject, placement, residual_apart=True)

    return _judge_placed(clause, contract, evidence, judge)


def check_order(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if declared planes come in another order."""

    def judge(placement: Placement) -> list[Finding]:
        return [judge_order(clause, evidence.subject, placement)]

    return _judge_placed(clause, contract, evidence, judge)


def check_residual(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a plane is what a layer adds to the residual stream, and not the stream."""

    def judge(placement: Placement) -> list[Finding]:
        return [judge_residual(clause, evidence.subject, placement)]

    return _judge_placed(clause, contract, evidence, judge)


def check_token_shift(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if row t of a plane is the state of another token than t."""

    def judge(placement: Placement) -> list[Finding]:
        excused = list_damaged(contract.stored_planes(), record_rows(evidence))
        return [judge_shift(clause, evidence.subject, placement, excused)]

    return _judge_placed(clause, contract, evidence, judge)


def check_final_state(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if logits rebuilt from a final state, read as declared, are not the target's."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None or evidence.comparison is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    planes, count = contract.stored_planes(), len(evidence.alone[0].shapes)
    governing = governing_tolerance(contract, captured_dtypes(evidence))
    placement = locate_planes(planes, evidence.comparison, governing)
    return judge_final_states(
        clause, contract, evidence.subject, planes, count, evidence.comparison, governing, placement
    )


def _judge_placed(
    clause: Clause, contract: Contract, evidence: CaptureEvidence, judge: Callable[[Placement], list[Finding]]
) -> list[Finding]:
    """Judge planes once they are located, or say why they cannot be."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None or evidence.comparison is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    governing = governing_tolerance(contract, captured_dtypes(evidence))
    placement = locate_planes(contract.stored_planes(), evidence.comparison, governing)
    if isinstance(placement, Obstacle):
        return [placement.finding(clause, evidence.subject)]
    return judge(placement)
