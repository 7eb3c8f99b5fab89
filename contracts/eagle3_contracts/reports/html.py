"""Findings as one HTML page without scripts, for people who were sent a link."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import STAGES, clause
from eagle3_contracts.reports.terminal import plain
from eagle3_contracts.reports.writing import write_text

if TYPE_CHECKING:
    from eagle3_contracts.run import Report

_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$contract</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
td, th { border: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; } code { white-space: pre-wrap; }
.failed { background: #fbd5d5; } .errored { background: #fde8c8; } .passed { background: #dcf2dc; }
.skipped { color: #666; } .should { background: #fdf6c8; }
</style></head><body>
<h1>$contract</h1><p>digest <code>$digest</code></p>
<ul>$subjects</ul><p>$summary</p>$notes
$stages
</body></html>
""")
_ORDER = (Verdict.FAILED, Verdict.ERRORED, Verdict.PASSED, Verdict.SKIPPED)


def render_html(report: Report, notes: tuple[str, ...] = ()) -> str:
    """Write a report as a page; everything that comes from outside is escaped."""
    subjects = "".join(f"<li>{_text(s.stage)}: <code>{_text(s.value)}</code></li>" for s in report.subjects)
    tables = [_render_stage(stage, [f for f in report.findings if f.stage == stage]) for stage in STAGES]
    return _PAGE.substitute(
        contract=_text(report.contract),
        digest=_text(report.digest),
        subjects=subjects,
        summary=_text(", ".join(f"{count} {verdict}" for verdict, count in report.summary.items())),
        notes="".join(f"<p class='errored'>{_text(note)}</p>" for note in notes),
        stages="\n".join(table for table in tables if table),
    )


def write_html(path: Path, report: Report, notes: tuple[str, ...] = ()) -> None:
    """Write the page to a file, whole or not at all."""
    write_text(path, render_html(report, notes))


def _render_stage(stage: str, findings: list[Finding]) -> str:
    if not findings:
        return ""
    rows = "\n".join(_render_row(item) for item in sorted(findings, key=lambda item: _ORDER.index(item.verdict)))
    head = "".join(f"<th>{name}</th>" for name in ("clause", "verdict", "subject", "observed", "expected", "hint"))
    return f"<h2>{_text(stage)}</h2><table><tr>{head}</tr>\n{rows}\n</table>"


def _render_row(finding: Finding) -> str:
    soft = finding.verdict is Verdict.FAILED and finding.level == "should"
    observed = _text(finding.observed)
    if finding.measure is not None:
        bound = "" if finding.bound is None else f", bound {finding.bound:.4g}"
        observed += f"<br><small>measure {finding.measure:.4g}{bound}</small>"
    if place := str(finding.where):
        observed += f"<br><small>{_text(place)}</small>"
    rung = f"<br><small>rung: {_text(str(finding.rung))}</small>" if finding.rung else ""
    cells = (
        f"<code title='{_text(clause(finding.clause).sentence)}'>{_text(finding.clause)}</code>",
        f"{_text(finding.verdict)}<br><small>{_text(finding.level)}</small>{rung}",
        _text(finding.subject),
        observed,
        _text(finding.expected),
        _text(finding.hint),
    )
    kind = "should" if soft else str(finding.verdict)
    return f"<tr class='{kind}'>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _text(value: str) -> str:
    return escape(plain(value)).replace("\n", "<br>")
