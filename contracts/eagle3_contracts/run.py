"""The flow: contract + subject -> evidence -> clauses -> findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eagle3_contracts.findings import Finding, Rung, Verdict, exit_code
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.subjects import READERS, Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

Check = Callable[[Clause, Any, Any], list[Finding]]

DOCUMENT = Subject("contract", "", "document")
"""The contract itself, the subject of the ``contract.*`` clauses."""


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of one run against one contract."""

    contract: str
    digest: str
    subjects: tuple[Subject, ...]
    findings: tuple[Finding, ...]

    @property
    def summary(self) -> dict[str, int]:
        """Count the findings by verdict; every verdict has an entry."""
        counts = Counter(str(item.verdict) for item in self.findings)
        return {str(verdict): counts[str(verdict)] for verdict in Verdict}

    def exit_code(self, *, strict: bool = False) -> int:
        """Give the exit code that the findings call for."""
        return exit_code(self.findings, strict=strict)


def gather_evidence(contract: Contract, subject: Subject, options: Options) -> Any:
    """Read a subject into its stage's evidence. Raises ``SubjectError`` if it cannot be used at all."""
    if subject.stage == "contract":
        return contract
    reader = import_module(f"eagle3_contracts.subjects.{READERS[subject.stage]}")
    return reader.gather(contract, subject, options)


def judge_clause(item: Clause, contract: Contract, evidence: Any) -> list[Finding]:
    """Judge one clause on evidence; at least one finding comes back, and no exception for a bad subject."""
    missing = _missing_evidence(item, evidence)
    if missing is not None:
        return [missing]
    module = import_module(f"eagle3_contracts.clauses.{item.stage}")
    check: Check = getattr(module, item.check_name)
    return check(item, contract, evidence)


def check(contract: Contract, subjects: Sequence[Subject], options: Options) -> Report:
    """Check subjects against a contract: the document's own clauses first, then each subject's stage."""
    findings: list[Finding] = []
    for subject in (DOCUMENT, *subjects):
        if is_absent(subject):
            findings += [skip_absent(item, subject) for item in clauses_of(subject.stage)]
            continue
        evidence = gather_evidence(contract, subject, options)
        for item in clauses_of(subject.stage):
            findings += judge_clause(item, contract, evidence)
    return Report(contract.reference, contract.digest, tuple(subjects), tuple(findings))


def is_absent(subject: Subject) -> bool:
    """Tell whether a subject that nobody named (``Subject.need``) is not there to be checked."""
    return subject.need is not None and not subject.need.met()


def skip_absent(item: Clause, subject: Subject) -> Finding:
    """Skip a clause on a subject whose package is not installed, and say what to install; it stays open."""
    assert subject.need is not None  # noqa: S101 (for the type checker)
    observed = f"{subject.need.module} is not installed here, so its {subject.stage} was not checked"
    return item.find(Verdict.SKIPPED, subject.label, observed=observed, hint=subject.need.remedy)


def _missing_evidence(item: Clause, evidence: Any) -> Finding | None:
    """Say why a clause that needs a target has nothing to judge, or None if it has."""
    if not item.needs:
        return None
    comparison = evidence.comparison
    if comparison is None:
        blamed = [problem for problem in evidence.problems if problem.kind == "target"]
        if blamed:
            return item.find(Verdict.ERRORED, evidence.subject, observed=blamed[0].reason, hint=blamed[0].remedy)
        if evidence.problems and not getattr(evidence, "samples", 0):  # of samples that were read, a target speaks
            reason = evidence.problems[0]
            return item.find(
                Verdict.ERRORED, evidence.subject, observed=reason.reason, hint=reason.remedy, where=reason.where
            )
        return item.find(
            Verdict.SKIPPED,
            evidence.subject,
            observed="no target was given",
            hint="give the target's weights: --contract-target DIR (check: --target DIR)",
        )
    part = getattr(comparison, item.needs)
    if part is None or (isinstance(part, tuple) and not part):
        why = "; ".join(comparison.notes) or f"the target at hand reaches the rung {comparison.rung!s} only"
        whole = comparison.rung is Rung.FULL
        lack = "mend the shapes first: planes, rows and token ids must fit the target"
        return item.find(
            Verdict.ERRORED,
            evidence.subject,
            observed=why,
            rung=comparison.rung,
            hint=lack if whole else "give a target that holds all weights: --contract-target DIR",
        )
    return None
