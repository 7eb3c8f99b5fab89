"""Why a clause cannot be decided: kept as a value until the clause says so ("could not check" is never "passed")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands in the way of a verdict, and what removes it. ``skips``: the clause does not apply at all."""

    reason: str
    hint: str = ""
    where: Where = field(default_factory=Where)
    rung: Rung | None = None
    skips: bool = False

    def finding(self, clause: Clause, subject: str) -> Finding:
        """State it as the clause's finding: errored, or skipped if the clause does not apply."""
        verdict = Verdict.SKIPPED if self.skips else Verdict.ERRORED
        return clause.find(verdict, subject, observed=self.reason, hint=self.hint, where=self.where, rung=self.rung)


NO_TARGET = Obstacle(
    "no target was given", "give the target's weights: --contract-target DIR (check: --target DIR)", skips=True
)
"""Without a target there is nothing to hold planes against (``run`` decides this before a check is called)."""


def from_problem(problem: Problem) -> Obstacle:
    """Give the obstacle that a problem of reading or running the subject is."""
    return Obstacle(problem.reason, problem.remedy, problem.where)


def first_problem(problems: Iterable[Problem], *kinds: str) -> Problem | None:
    """Give the first problem of one of these kinds (of any kind if none is named)."""
    return next((problem for problem in problems if not kinds or problem.kind in kinds), None)
