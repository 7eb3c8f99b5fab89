from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.findings import Finding, Level, Rung, Verdict, Where
from eagle3_contracts.registry import CLAUSES
from eagle3_contracts.reports.json_report import decode_finding, dump_json, encode_finding, encode_report, write_json
from eagle3_contracts.run import Report
from eagle3_contracts.subjects import Subject

NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
FINDINGS = st.builds(
    Finding,
    clause=st.sampled_from([item.id for item in CLAUSES]),
    level=st.sampled_from(Level),
    verdict=st.sampled_from(Verdict),
    stage=st.sampled_from(["capture", "dataset"]),
    subject=st.text(),
    observed=st.text(),
    expected=st.text(),
    rung=st.none() | st.sampled_from(Rung),
    where=st.builds(Where, file=st.none() | st.text(), plane=st.none() | st.text(), token=st.none() | st.integers()),
    measure=NUMBERS,
    bound=NUMBERS,
    hint=st.text(),
)


@given(FINDINGS)
def test_a_finding_survives_the_way_through_json(finding: Finding) -> None:
    assert decode_finding(json.loads(dump_json(encode_finding(finding)))) == finding


def test_a_number_that_is_not_finite_is_null() -> None:
    finding = CLAUSES[0].find(Verdict.FAILED, "x", measure=float("inf"), bound=float("nan"))
    assert (encode_finding(finding)["measure"], encode_finding(finding)["bound"]) == (None, None)


def test_the_report_has_the_documented_shape() -> None:
    finding = CLAUSES[0].find(Verdict.PASSED, "document")
    encoded = encode_report(Report("c@1.0.0", "abc", (Subject("dataset", "/d", "d"),), (finding,)))
    assert list(encoded) == ["contract", "digest", "subjects", "findings", "summary"]
    assert encoded["subjects"] == [{"stage": "dataset", "value": "/d", "label": "d"}]
    assert encoded["summary"] == {"passed": 1, "failed": 0, "errored": 0, "skipped": 0}
    (record,) = encoded["findings"]
    assert list(record) == [
        "clause", "level", "verdict", "stage", "subject", "observed", "expected", "rung", "where", "measure", "bound",
        "hint",
    ]  # fmt: skip
    assert list(record["where"]) == ["file", "plane", "token", "tensor", "flag", "line"]


def test_a_name_that_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    finding = CLAUSES[0].find(Verdict.FAILED, "x", where=Where(file="\udc80"))
    write_json(tmp_path / "r.json", Report("c", "d", (), (finding,)), {"complaints": []})
    read = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert read["findings"][0]["where"]["file"] == "\udc80"
    assert read["complaints"] == []
