"""Findings as text that stands alone.

Standard library only. What comes from a subject (names of files and tensors) is printed without its control
characters: a file name must not drive the terminal.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import STAGES

UNCHECKED = "COULD NOT CHECK"
WIDTH = 110

_HEADINGS = {Verdict.FAILED: "FAILED", Verdict.ERRORED: UNCHECKED, Verdict.PASSED: "passed", Verdict.SKIPPED: "skipped"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Write control characters, lone surrogates and what reverses the direction of text as ``\x1b``."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def describe_finding(finding: Finding) -> str:
    """Write one finding: what was observed, expected, where, measure and bound, and what mends it."""
    heading = _HEADINGS[finding.verdict]
    if finding.verdict is Verdict.FAILED and finding.level is Level.SHOULD:
        heading = "violated"
    rung = f", rung: {finding.rung}" if finding.rung else ""
    first = plain(f"{heading} {finding.clause} ({finding.level}) on {finding.subject}{rung}")
    rows = {
        "observed": finding.observed,
        "expected": finding.expected,
        "where": str(finding.where),
        "measure": _describe_measure(finding),
        "hint": finding.hint,
    }
    return "\n".join([first, *_write_rows(rows)])


def describe_unchecked(findings: Iterable[Finding]) -> Iterator[str]:
    """Write what could not be checked, then what was skipped: clauses with one and the same reason are told as one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for item in findings:
        key = (item.verdict, item.subject, item.observed, item.where, item.hint, item.rung)
        groups.setdefault(key, []).append(item)
    for group in sorted(groups.values(), key=lambda group: group[0].verdict is Verdict.SKIPPED):
        first, names = group[0], ", ".join(item.clause for item in group)
        if first.verdict is Verdict.ERRORED and len(group) == 1:
            yield f"\n{describe_finding(first)}"
        elif first.verdict is Verdict.ERRORED:
            rows = {"observed": first.observed, "where": str(first.where), "clauses": names, "hint": first.hint}
            yield "\n".join(["", plain(f"{UNCHECKED} {len(group)} clauses on {first.subject}"), *_write_rows(rows)])
        elif first.verdict is Verdict.SKIPPED:
            rows = {"clauses": names, "reason": first.observed, "hint": first.hint}
            yield "\n".join(["", plain(f"skipped on {first.subject}"), *_write_rows(rows)])


def describe_counts(findings: Iterable[Finding]) -> list[str]:
    """Count verdicts stage by stage, one line each, in the stages' order."""
    seen = list(findings)
    lines = []
    for stage in STAGES:
        here = [item for item in seen if item.stage == stage]
        if here:
            counts = ", ".join(f"{sum(item.verdict is verdict for item in here)} {verdict}" for verdict in _shown(here))
            violated = sum(_is_violated_should(item) for item in here)
            lines.append(f"{stage:<10} {counts}" + (f" ({violated} of a should)" if violated else ""))
    return lines


def describe_reservations(findings: Iterable[Finding]) -> list[str]:
    """Write what a pass does not speak of, one line each: a pass with a hint, such as files that were not read."""
    passed = (item for item in findings if item.verdict is Verdict.PASSED and item.hint)
    return [plain(f"{item.stage:<10} {item.subject}: {item.observed}; {item.hint}") for item in passed]


def violated_shoulds(findings: Iterable[Finding]) -> list[Finding]:
    """Pick the violations that do not fail a run."""
    return [item for item in findings if _is_violated_should(item)]


def _is_violated_should(finding: Finding) -> bool:
    return finding.verdict is Verdict.FAILED and finding.level is Level.SHOULD


def _shown(findings: Sequence[Finding]) -> list[Verdict]:
    present = {item.verdict for item in findings}
    return [verdict for verdict in Verdict if verdict in present]


def _describe_measure(finding: Finding) -> str:
    if finding.measure is None:
        return ""
    bound = "" if finding.bound is None else f", bound {_number(finding.bound)}"
    return f"{_number(finding.measure)}{bound}"


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def _write_rows(rows: Mapping[str, str]) -> Iterator[str]:
    return (line for name, text in rows.items() if text for line in _wrap(f"{name}:", plain(text)))


def _wrap(name: str, text: str) -> list[str]:
    """Indent a field under its heading; its own line breaks are kept."""
    lines: list[str] = []
    for part in text.splitlines():
        first = f"  {name:<10}" if not lines else " " * 12
        lines += textwrap.wrap(
            part,
            WIDTH,
            initial_indent=first,
            subsequent_indent=" " * 12,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return lines
