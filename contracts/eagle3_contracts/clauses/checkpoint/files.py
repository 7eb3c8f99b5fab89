"""Files and form of a checkpoint, and why a clause cannot look at what it needs."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

UNREAD = ("config", "missing", "truncated", "corrupt", "unsupported", "unknown-format")
"""Kinds of problem of a file that is there and does not yield what it should."""


def find_tensor_obstacle(evidence: CheckpointEvidence) -> Obstacle | None:
    """Say why the tensors cannot be judged, or give None."""
    if evidence.weights and evidence.form is not None:
        broken = first_problem(evidence.problems, "unsafe", "missing", "truncated", "corrupt", "unsupported", "needs")
        whole = broken is None or (broken.kind == "needs" and broken.where.file is None)
        return None if whole or broken is None else from_problem(broken)
    return _find_reason(evidence)


def _find_reason(evidence: CheckpointEvidence) -> Obstacle:
    told = first_problem(evidence.problems)
    return from_problem(told) if told else Obstacle("no tensor was read", "give the folder that the trainer exported")


def find_config_obstacle(evidence: CheckpointEvidence) -> Obstacle | None:
    """Say why config.json cannot be judged, or give None."""
    if evidence.config:
        return None
    told = first_problem(evidence.problems, "config") or first_problem(evidence.problems)
    return from_problem(told) if told else Obstacle("config.json is empty", "export the checkpoint again")


def check_safe(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a pickle that holds more than tensors, or an index that names a file outside the folder."""
    del contract
    return _judge_problems(clause, evidence, ("unsafe",), "tensors and plain values, in files of this folder")


def check_readable(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a config.json or file of weights that is missing, cut off, broken, or holds a tensor twice."""
    del contract
    kinds = tuple(kind for kind in UNREAD if kind != "unknown-format")
    return _judge_problems(clause, evidence, kinds, "files that can be read to their end, each tensor once")


def check_form(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a folder that is of no form that a trainer writes."""
    del contract
    expected = "the form of speculators, SpecForge, ModelOpt or EAGLE"
    if evidence.form is not None:
        observed = f"{evidence.form}'s form, {say_count(len(evidence.weights), 'tensor')}"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, expected=expected)]
    problem = first_problem(evidence.problems, "unknown-format")
    if problem is None:
        return [_find_reason(evidence).finding(clause, evidence.subject)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=problem.reason,
            expected=expected,
            where=problem.where,
            measure=1.0,
            bound=0.0,
            hint=problem.remedy,
        )
    ]


def _judge_problems(
    clause: Clause, evidence: CheckpointEvidence, kinds: tuple[str, ...], expected: str
) -> list[Finding]:
    """Fail once per problem of these kinds; errored if what was read is nothing, or needs a package."""
    found = [problem for problem in evidence.problems if problem.kind in kinds]
    if found:
        return [
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=problem.reason,
                expected=expected,
                where=problem.where,
                measure=float(len(found)),
                bound=0.0,
                hint=problem.remedy,
            )
            for problem in found
        ]
    unread = first_problem(evidence.problems, "needs", "missing") if not evidence.weights else None
    if unread is not None or not evidence.weights:
        return [(from_problem(unread) if unread else Obstacle("no file was read")).finding(clause, evidence.subject)]
    files = {record.file for record in evidence.weights.values()}
    observed = f"config.json and {say_count(len(files), 'file')} of weights"
    return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, expected=expected)]
