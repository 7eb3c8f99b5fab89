"""How findings on a recording are stated, and why a clause cannot look at what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle, first_problem, from_problem
from eagle3_contracts.evidence import GoldenEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

BROKEN = ("missing", "corrupt", "truncated", "unsupported")
"""Kinds of problem of a file that is not there, or does not yield what it should."""

RECORD = "record it again: eagle3-contracts record NAME"
STATES, DRAFTS = Where(file="states.safetensors"), Where(file="drafts.safetensors")


class Defect(NamedTuple):
    """What is wrong, where, and what mends it; ``measure`` against ``bound`` where a number was compared."""

    observed: str
    where: Where
    hint: str
    measure: float = 1.0
    bound: float = 0.0


def state(
    clause: Clause,
    evidence: GoldenEvidence,
    defects: Sequence[Defect],
    *,
    sound: str = "",
    expected: str,
    rung: Rung | None = None,
    measure: float | None = None,
    bound: float | None = None,
) -> list[Finding]:
    """Fail once per defect, or pass and say what is sound."""
    if not defects:
        return [
            clause.find(
                Verdict.PASSED,
                evidence.subject,
                observed=sound,
                expected=expected,
                rung=rung,
                measure=measure,
                bound=bound,
            )
        ]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=defect.observed,
            expected=expected,
            where=defect.where,
            rung=rung,
            measure=defect.measure,
            bound=defect.bound,
            hint=defect.hint,
        )
        for defect in defects
    ]


def find_manifest_obstacle(evidence: GoldenEvidence) -> Obstacle | None:
    """Say why there is no recording to judge, or give None."""
    if evidence.sequences or evidence.files:
        return None
    problem = first_problem(evidence.problems)
    return from_problem(problem) if problem else Obstacle("the recording lists no file and no sequence", RECORD)


def find_file_obstacle(evidence: GoldenEvidence, *files: Where) -> Obstacle | None:
    """Say why tensors of these files cannot be judged: one of them is broken, or there is no sequence. Else None."""
    names = {where.file for where in files}
    broken = [item for item in evidence.problems if item.kind in BROKEN and item.where.file in names]
    if broken:
        return from_problem(broken[0])
    return None if evidence.sequences else Obstacle("the recording holds no sequence", RECORD)


def find_values_obstacle(evidence: GoldenEvidence, *files: Where) -> Obstacle | None:
    """Say why recorded values of these files cannot be judged, or give None."""
    obstacle = find_manifest_obstacle(evidence) or find_file_obstacle(evidence, *files)
    if obstacle is None and evidence.scan == "headers":
        return Obstacle("no values were read (scan: headers)", "read them: --contract-scan=sample")
    return obstacle


def find_target_obstacle(evidence: GoldenEvidence) -> Obstacle | None:
    """Say why nothing was held against the target, or give None; a target that was not given skips the clause."""
    told = first_problem(evidence.problems, "target", "needs")
    if told is not None:
        return from_problem(told)
    if evidence.uncompared and not evidence.compared and len(evidence.uncompared) == len(evidence.sequences):
        first = next(iter(evidence.uncompared.values()))
        return Obstacle(f"no sequence can be held against the target: {first}", RECORD, STATES)
    return NO_TARGET


def add_unlooked(
    clause: Clause, evidence: GoldenEvidence, found: list[Finding], reasons: Sequence[str]
) -> list[Finding]:
    """Add that some sequences could not be looked at: what passed is not the whole of it."""
    if not reasons:
        return found
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    obstacle = Obstacle(f"not compared: {reasons[0]}{more}", "see golden.shapes and golden.sequences", STATES)
    return [*found, obstacle.finding(clause, evidence.subject)]
