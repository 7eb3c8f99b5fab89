"""Findings: the outcome of one clause on one subject.

Standard library only: the pytest plugin and the reports read findings without numpy, torch or pydantic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    """How binding a clause is."""

    MUST = "must"
    SHOULD = "should"


class Verdict(StrEnum):
    """What one clause says of one subject; "errored" (could not be checked) is never "passed"."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"


class Rung(StrEnum):
    """How much of the target the evidence rests on, weakest first (a finding always names its rung)."""

    NONE = "none"
    NORM = "final norm vector"
    EMBEDDING = "embedding"
    HEAD = "norm + head"
    FULL = "full target"


@dataclass(frozen=True, slots=True)
class Where:
    """The place a finding speaks of; empty fields do not apply."""

    file: str | None = None
    plane: str | None = None
    token: int | None = None
    tensor: str | None = None
    flag: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """Name the place as an engineer would: ``data_3.pt, plane low, token 17``."""
        parts = [f"{self.file}:{self.line}" if self.file and self.line is not None else self.file]
        parts += [
            f"{name} {value}"
            for name in ("plane", "token", "tensor", "flag")
            if (value := getattr(self, name)) is not None
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one clause found on one subject.

    ``measure`` is the number that was compared with ``bound``; ``hint`` gives the likely cause and the
    command or line that mends it. Together the fields make a message that stands alone.
    """

    clause: str
    level: Level
    verdict: Verdict
    stage: str
    subject: str
    observed: str = ""
    expected: str = ""
    rung: Rung | None = None
    where: Where = field(default_factory=Where)
    measure: float | None = None
    bound: float | None = None
    hint: str = ""

    def as_dict(self) -> dict[str, object]:
        """Give the finding as JSON-ready values, with every field of ``where`` present."""
        record = dataclasses.asdict(self)
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in record.items()}


_GRAVITY = (Verdict.FAILED, Verdict.ERRORED, Verdict.PASSED, Verdict.SKIPPED)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Sum up several verdicts on one clause: failed before errored before passed before skipped.

    A clause that was decided for one plane and skipped for another counts as decided; one that could not
    be checked for any plane counts as errored, whatever passed beside it.
    """
    found = set(verdicts)
    return next((verdict for verdict in _GRAVITY if verdict in found), Verdict.ERRORED)


def decides(findings: Iterable[Finding]) -> bool:
    """Tell whether findings prove anything: some clause passed or failed.

    The document's own clauses count only where nothing else was looked at: that a contract is sound says
    nothing about a subject whose every clause was skipped.
    """
    seen = list(findings)
    subjects = [item for item in seen if item.stage != "contract"]
    return any(item.verdict in {Verdict.PASSED, Verdict.FAILED} for item in subjects or seen)


def leaves_open(finding: Finding) -> bool:
    """Tell whether something stayed unchecked: errored, or skipped for want of what the hint says to give.

    A clause that does not apply to a subject (scales, where nothing is stored in float8) is skipped without a hint.
    """
    return finding.verdict is Verdict.ERRORED or (finding.verdict is Verdict.SKIPPED and bool(finding.hint))


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """Turn findings into an exit code: 1 a violation of a must, 3 something unchecked, 0 otherwise.

    ``strict`` counts a violated should as a violation. No finding that passed or failed is 3: a run that
    checked nothing has proved nothing.
    """
    seen = list(findings)
    binding = {Level.MUST, Level.SHOULD} if strict else {Level.MUST}
    if any(item.verdict is Verdict.FAILED and item.level in binding for item in seen):
        return 1
    unchecked = any(item.verdict is Verdict.ERRORED for item in seen)
    return 3 if unchecked or not decides(seen) else 0
