from __future__ import annotations

from pathlib import Path

from eagle3_contracts.findings import Verdict, Where
from eagle3_contracts.registry import clause
from eagle3_contracts.reports.github import annotate, append_summary, is_github, render_summary
from eagle3_contracts.run import Report

ROWS, RANGE = clause("dataset.rows"), clause("dataset.norm-range")
FINDINGS = (
    ROWS.find(Verdict.FAILED, "run:1,a", observed="50 % of\nrows", where=Where(file="a|b.pt")),
    RANGE.find(Verdict.FAILED, "x"),
    ROWS.find(Verdict.ERRORED, "x", observed="<b>half</b> [written](http://x)"),
    ROWS.find(Verdict.PASSED, "x"),
    ROWS.find(Verdict.SKIPPED, "x"),
)


def test_only_a_github_job_is_annotated() -> None:
    assert is_github({"GITHUB_ACTIONS": "true"})
    assert not is_github({"GITHUB_ACTIONS": "false"})
    assert not is_github({})


def test_violations_and_unchecked_clauses_become_one_command_each() -> None:
    failed, soft, errored = annotate(FINDINGS)
    assert failed.startswith("::error title=dataset.rows on run%3A1%2Ca::FAILED dataset.rows (must) on run:1,a%0A")
    assert "50 %25 of%0A" in failed
    assert soft.startswith("::warning title=dataset.norm-range on x::violated")
    assert errored.startswith("::error title=COULD NOT CHECK dataset.rows on x::COULD NOT CHECK")
    assert not any("\n" in line for line in (failed, soft, errored))


def test_the_summary_is_a_table_that_no_name_can_break_out_of() -> None:
    text = render_summary(Report("c@1.0.0", "d", (), FINDINGS), ("nothing | proved",))
    lines = text.splitlines()
    assert lines[0] == "### c@1.0.0: 1 passed, 2 failed, 1 errored, 1 skipped"
    assert "> **nothing &#124; proved**" in lines
    rows = [line for line in lines if line.startswith("| dataset")]
    assert len(rows) == 3
    assert {row.count("|") for row in rows} == {6}
    assert "&lt;b&gt;half&lt;/b&gt; &#91;written&#93;(http://x)" in text


def test_the_summary_is_appended_where_github_says(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_text("before\n", encoding="utf-8")
    append_summary({"GITHUB_STEP_SUMMARY": str(page)}, Report("c", "d", (), FINDINGS))
    assert page.read_text(encoding="utf-8").startswith("before\n### c: ")
    append_summary({}, Report("c", "d", (), FINDINGS))
