"""The values of captured rows: finite, written, and of the declared norm."""

from __future__ import annotations

from eagle3_contracts.clauses.capture.answers import find_obstacle
from eagle3_contracts.clauses.rows import judge_finite, judge_norms, judge_zero_rows, record_plane
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CaptureEvidence, PlaneRecord
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import Clause


def check_finite(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail for every plane that holds NaN or infinite values."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_finite(clause, evidence.subject, contract.stored_planes(), record_rows(evidence))


def check_zero_rows(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail for every plane that holds rows of zeros."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_zero_rows(clause, evidence.subject, contract.stored_planes(), record_rows(evidence))


def check_norm_range(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail for every plane whose median norm leaves its declared range; skipped if none declares one."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_norms(clause, evidence.subject, contract.stored_planes(), record_rows(evidence))


def record_rows(evidence: CaptureEvidence) -> list[PlaneRecord]:
    """Gather the same statistics that dataset evidence holds, over requests with as many planes as the first."""
    count = len(evidence.alone[0].planes)
    alike = [request.planes for request in evidence.alone if len(request.planes) == count]
    return [record_plane([planes[index] for planes in alike]) for index in range(count)]
