"""Findings in GitHub's own places: annotations on the run, and the job's summary page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.reports.terminal import UNCHECKED, describe_finding, plain

if TYPE_CHECKING:
    from eagle3_contracts.run import Report


def is_github(environ: Mapping[str, str]) -> bool:
    """Tell whether the run is a GitHub job."""
    return environ.get("GITHUB_ACTIONS") == "true"


def annotate(findings: Iterable[Finding]) -> Iterator[str]:
    """Write one workflow command per violation and per clause that could not be checked."""
    for item in findings:
        if item.verdict not in {Verdict.FAILED, Verdict.ERRORED}:
            continue
        soft = item.verdict is Verdict.FAILED and item.level is Level.SHOULD
        title = f"{UNCHECKED} {item.clause}" if item.verdict is Verdict.ERRORED else item.clause
        yield (
            f"::{'warning' if soft else 'error'} title={_property(f'{title} on {item.subject}')}"
            f"::{_data(describe_finding(item))}"
        )


def render_summary(report: Report, notes: tuple[str, ...] = ()) -> str:
    """Write a report as Markdown for the job's summary page."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.summary.items())
    lines = [f"### {_cell(report.contract)}: {counts}", "", *(f"> **{_cell(note)}**\n" for note in notes)]
    shown = [item for item in report.findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    if shown:
        lines += ["| clause | verdict | subject | observed | hint |", "|---|---|---|---|---|"]
    for item in shown:
        verdict = f"{item.verdict} ({item.level})"
        cells = (item.clause, verdict, item.subject, f"{item.observed} {item.where}".strip(), item.hint)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def append_summary(environ: Mapping[str, str], report: Report, notes: tuple[str, ...] = ()) -> None:
    """Append a report to the job's summary page, where there is one."""
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(render_summary(report, notes))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text)).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    r"""Keep a table cell one cell: no line break, no pipe, no markup, no link."""
    escaped = escape(plain(text), quote=False)
    for mark in "\\`*_[]|":
        escaped = escaped.replace(mark, f"&#{ord(mark)};")
    return " ".join(escaped.split())
