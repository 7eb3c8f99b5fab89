"""Whether the server answers at all (``server.reachable``)."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.server.asking import FAILS_TO_ANSWER, find_answers
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause


@names_stand_ins
def check_reachable(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail for every request without an answer that can be read: the first reason of each kind once."""
    del contract
    broken = [problem for problem in evidence.problems if problem.kind in FAILS_TO_ANSWER]
    if broken:
        kinds = {problem.kind: problem for problem in reversed(broken)}
        return [
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=f"{kind}: {problem.reason}" + _count(sum(item.kind == kind for item in broken)),
                where=problem.where,
                measure=float(sum(item.kind == kind for item in broken)),
                bound=0.0,
                hint=problem.remedy or "look into the server's log",
            )
            for kind, problem in reversed(kinds.items())
        ]
    answers = find_answers(evidence)
    if isinstance(answers, Obstacle):
        problem = first_problem(evidence.problems)
        return [(from_problem(problem) if problem else answers).finding(clause, evidence.subject)]
    return [
        clause.find(
            Verdict.PASSED,
            evidence.subject,
            observed=f"{evidence.url or 'the server'} ({_describe(evidence)}) answers "
            f"{say_count(len(answers), 'probe')}",
            measure=0.0,
            bound=0.0,
        )
    ]


def _count(number: int) -> str:
    return f" ({number} requests so)" if number > 1 else ""


def _describe(evidence: ServerEvidence) -> str:
    """Say what answered: ``sglang 0.5.23, eagle3, cpu, intel_amx``."""
    arguments = evidence.arguments
    if arguments is None:
        return "it does not say what it is"
    said = [f"{arguments.engine} {arguments.version or 'of a version it does not tell'}", evidence.role or ""]
    said += [arguments.device or "", arguments.attention_backend or ""]
    return ", ".join(part for part in said if part)
