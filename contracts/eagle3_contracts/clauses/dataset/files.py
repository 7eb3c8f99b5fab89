"""Files of a dataset: safe to read, readable to their end, of one known format (``safe``, ``readable``, ``schema``).

Every other clause judges what was read, so that a file left unread must fail here and nowhere be forgotten.
"""

from __future__ import annotations

from collections.abc import Collection

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence, Problem
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

UNSAFE = frozenset({"unsafe"})
UNREADABLE = frozenset({"truncated", "corrupt", "empty"})
MISFORMED = frozenset({"unknown-format", "ambiguous", "missing", "unsupported"})
_SHOWN = 5


def find_obstacle(evidence: DatasetEvidence, *, values: bool = False) -> Obstacle | None:
    """Say why there is no sample to judge, or give None. ``values``: the clause needs more than headers."""
    if not evidence.samples:
        problem = first_problem(evidence.problems)
        if problem is None:
            return Obstacle("no sample was read", "give the folder that holds the files")
        told = from_problem(problem)
        reason = f"no sample could be read ({say_count(len(evidence.problems), 'problem')}, first: {told.reason})"
        return Obstacle(reason, told.hint, told.where)
    if values and evidence.scan == "headers":
        hint = "scan with values: --contract-scan sample, or full"
        return Obstacle("headers alone were read, and no tensor data", hint, skips=True)
    return None


def say_extent(evidence: DatasetEvidence) -> str:
    """Say how much of the dataset a verdict speaks of: ``64 of 12,000 files``."""
    read, found = evidence.files_read, evidence.files_found
    return say_count(read, "file") if read == found else f"{read:,} of {found:,} files"


def check_safe(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for files that hold more than tensors and plain values, or name a place outside their folder."""
    del contract
    return _judge_files(clause, evidence, UNSAFE, "hold tensors and plain values only")


def check_readable(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for truncated, corrupt and empty files, each counted; errored where a package to read them is missing."""
    del contract
    missing = first_problem(evidence.problems, "needs")
    if missing is not None and not any(problem.kind in UNREADABLE for problem in evidence.problems):
        return [from_problem(missing).finding(clause, evidence.subject)]
    return _judge_files(clause, evidence, UNREADABLE, "could be read to their end")


def check_schema(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for files of no known format, of several possible ones, or without the keys of theirs."""
    del contract
    return _judge_files(clause, evidence, MISFORMED, f"are of format {evidence.format}")


def _judge_files(clause: Clause, evidence: DatasetEvidence, kinds: Collection[str], virtue: str) -> list[Finding]:
    """Fail once per kind of defect, with the number of files and the first few; pass only for files that were read."""
    by_kind: dict[str, list[Problem]] = {}
    for problem in evidence.problems:
        if problem.kind in kinds:
            by_kind.setdefault(problem.kind, []).append(problem)
    if by_kind:
        return [_say_defect(clause, evidence, kind, problems) for kind, problems in by_kind.items()]
    if not evidence.files_read and (obstacle := find_obstacle(evidence)) is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if evidence.files_read and not evidence.samples:
        return [Obstacle(f"{say_extent(evidence)} read, and no sample in them").finding(clause, evidence.subject)]
    observed = f"{say_extent(evidence)} ({say_count(evidence.samples, 'sample')}) {virtue}"
    unread = evidence.files_found - evidence.files_read
    left = f"{say_count(unread, 'file')} not read: --contract-scan full (check: --scan full) reads all"
    hint = left if kinds is UNREADABLE and unread > 0 else ""
    return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0, hint=hint)]


def _say_defect(clause: Clause, evidence: DatasetEvidence, kind: str, problems: list[Problem]) -> Finding:
    first = problems[0]
    named = list(dict.fromkeys(problem.where.file for problem in problems if problem.where.file))
    count = len(named) or len(problems)
    more = f", and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    listed = f"{', '.join(named[:_SHOWN])}{more}" if named else "the whole"
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"{kind}: {count:,} of {max(evidence.files_found, count):,} files ({listed}); first: {first.reason}",
        where=first.where,
        measure=float(count),
        bound=0.0,
        hint=first.remedy,
    )
