from __future__ import annotations

from html.parser import HTMLParser

from eagle3_contracts.findings import Verdict, Where
from eagle3_contracts.registry import clause
from eagle3_contracts.reports.html import render_html
from eagle3_contracts.run import Report
from eagle3_contracts.subjects import Subject

HOSTILE = '<script>alert("1")</script>&\x1b'


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def render(*notes: str) -> Reader:
    finding = clause("dataset.rows").find(
        Verdict.FAILED, HOSTILE, observed=HOSTILE, hint=HOSTILE, where=Where(file=HOSTILE), measure=2.0, bound=1.0
    )
    soft = clause("dataset.norm-range").find(Verdict.FAILED, "x")
    report = Report(HOSTILE, HOSTILE, (Subject("dataset", HOSTILE, "x"),), (soft, finding))
    reader = Reader()
    reader.feed(render_html(report, notes))
    return reader


def test_nothing_from_outside_becomes_markup() -> None:
    reader = render(HOSTILE)
    assert "script" not in reader.tags
    assert reader.text.count('<script>alert("1")</script>&\\x1b') >= 7


def test_findings_show_with_measure_bound_and_notes() -> None:
    reader = render("no clause passed or failed")
    for part in ("dataset.rows", "measure 2, bound 1", "no clause passed or failed", "dataset.norm-range", "2 failed"):
        assert part in reader.text
