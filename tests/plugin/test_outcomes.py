"""How findings show in a run of pytest: ids, headings, skips, sections, expected failures, required stages."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from support.consumer import BROKEN, CRASHING, GOOD, LOUD, Consumer, count, said


def test_one_item_per_clause_named_by_the_clause(consumer: Consumer) -> None:
    result = consumer.check_capture(GOOD, "--co", "-q", "-k", "capture.norm-range or capture.runs")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == [
        "test_clause[capture.runs]",
        "test_clause[capture.norm-range]",
    ]


def test_several_subjects_are_told_apart_by_their_label(consumer: Consumer) -> None:
    result = consumer.check_capture(GOOD, "--contract-capture", LOUD, "--co", "-q", "-k", "capture.runs")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == [
        "test_clause[capture.runs@captures.py:good]",
        "test_clause[capture.runs@captures.py:loud]",
    ]


def test_a_violated_must_fails_with_a_message_that_stands_alone(consumer: Consumer) -> None:
    result = consumer.check_capture(BROKEN, "-k", "capture.finite")
    result.assert_outcomes(failed=1, deselected=count() - 1)
    result.stdout.fnmatch_lines(
        ["*test_clause[[]capture.finite]*", "FAILED capture.finite (must) on captures.py:broken", "  observed: *"]
    )
    assert "Traceback" not in said(result)


def test_what_could_not_be_checked_fails_under_a_heading_of_its_own(consumer: Consumer) -> None:
    result = consumer.check_capture(CRASHING, "-k", "capture.finite")
    result.assert_outcomes(failed=1, deselected=count() - 1)
    result.stdout.fnmatch_lines(
        ["COULD NOT CHECK capture.finite (must) on captures.py:crashing", "*RuntimeError: no such layer"]
    )


def test_a_subject_that_is_not_there_could_not_be_checked(consumer: Consumer) -> None:
    result = consumer.check_capture("captures.py:absent", "-k", "capture.finite")
    result.assert_outcomes(failed=1, deselected=count() - 1)
    result.stdout.fnmatch_lines(["COULD NOT CHECK capture.finite (must) on captures.py:absent"])
    assert "'absent' in _capture_under_test_captures has no such name" in said(result)
    assert "Traceback" not in said(result)


def test_a_skip_says_why_and_what_to_give(consumer: Consumer) -> None:
    result = consumer.check_capture(GOOD)
    assert "no target was given; give the target's weights: --contract-target DIR" in said(result)


def test_a_stage_without_a_subject_is_skipped_and_the_summary_says_so(consumer: Consumer) -> None:
    result = consumer.check_capture(GOOD, "-k", "capture.runs or dataset")
    result.assert_outcomes(passed=1, skipped=count("dataset"), deselected=count() - count("dataset") - 1)
    result.stdout.fnmatch_lines(["dataset    not checked: no dataset was given; to check one: *hidden-states PATH"])


def test_a_violated_should_passes_and_is_told_in_the_summary(consumer: Consumer) -> None:
    result = consumer.check_capture(LOUD, "-k", "capture.norm-range")
    result.assert_outcomes(passed=1, deselected=count() - 1)
    result.stdout.fnmatch_lines(
        [
            "capture    1 failed (1 of a should)",
            "*EAGLE-3 contracts: violations of a should*",
            "violated capture.norm-range (should) on captures.py:loud",
            "  observed: median norm of plane low is *",
        ]
    )


def test_strict_fails_a_violated_should(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer.check_capture(LOUD, "-k", "capture.norm-range", "--contract-strict").assert_outcomes(
        failed=1, deselected=count() - 1
    )
    monkeypatch.setenv("EAGLE3_CONTRACT_STRICT", "true")
    consumer.check_capture(LOUD, "-k", "capture.norm-range").assert_outcomes(failed=1, deselected=count() - 1)


EXPECTED = '[tool.eagle3-contracts.expected]\n"{}" = {{ reason = "known", link = "https://example.org/7" {} }}\n'


@pytest.mark.parametrize(
    ("clause", "more", "capture", "outcomes"),
    [
        ("capture.finite", "", BROKEN, {"xfailed": 1}),
        ("capture.finite", ', subject = "captures.py:broken"', BROKEN, {"xfailed": 1}),
        ("capture.finite", ', subject = "another"', BROKEN, {"failed": 1}),
        ("capture.finite", "", GOOD, {"failed": 1}),
        ("capture.finite", "", CRASHING, {"failed": 1}),
    ],
    ids=["it fails", "it fails on the subject", "another subject", "it passes", "it cannot be checked"],
)
def test_an_expected_failure_is_strict(
    consumer: Consumer, clause: str, more: str, capture: str, outcomes: dict[str, int]
) -> None:
    consumer.pytester.makepyprojecttoml(EXPECTED.format(clause, more))
    result = consumer.check_capture(capture, "-k", clause)
    result.assert_outcomes(deselected=count() - 1, **outcomes)
    if "xfailed" in outcomes:
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["capture.finite on captures.py:broken: known (https://example.org/7)"])


def test_an_expected_failure_of_an_unknown_clause_is_a_usage_error(consumer: Consumer) -> None:
    consumer.pytester.makepyprojecttoml(EXPECTED.format("capture.finit", ""))
    result = consumer.check_capture(GOOD)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "[tool.eagle3-contracts.expected] 'capture.finit': no such clause" in said(result)


@pytest.mark.parametrize(
    ("required", "chosen", "status"),
    [
        ("capture", "capture.runs", pytest.ExitCode.OK),
        ("capture", "capture.runs or capture.boundary", pytest.ExitCode.TESTS_FAILED),
        ("dataset", "capture.runs", pytest.ExitCode.TESTS_FAILED),
        ("dataset,capture", "capture.runs or dataset", pytest.ExitCode.TESTS_FAILED),
    ],
    ids=["checked", "skipped for want of a target", "not selected", "not given"],
)
def test_a_required_stage_must_be_checked(
    consumer: Consumer, required: str, chosen: str, status: pytest.ExitCode
) -> None:
    result = consumer.check_capture(GOOD, "-k", chosen, "--contract-require", required)
    assert result.ret == status
    sentence = f"the stage {required.partition(',')[0]} is required, but"
    assert (sentence in said(result)) == (status != pytest.ExitCode.OK)


def test_workers_come_to_the_same_findings(consumer: Consumer) -> None:
    arguments = ("--pyargs", "eagle3_contracts.suite", "-k", "capture", "--contract", "own.toml")
    subjects = ("--contract-capture", LOUD, "--contract-capture", BROKEN)
    alone, shared = (consumer.findings(*arguments, *subjects, *more) for more in ((), ("-n", "2")))
    assert {item["verdict"] for item in alone} == {"passed", "failed", "skipped"}
    assert sorted(map(json.dumps, alone)) == sorted(map(json.dumps, shared))


def test_evidence_is_gathered_once_per_process(consumer: Consumer) -> None:
    consumer.check_capture(GOOD)
    assert (consumer.path / "imported.txt").read_text(encoding="utf-8") == "x"
    consumer.check_capture(GOOD, "-n", "2")
    assert (consumer.path / "imported.txt").read_text(encoding="utf-8") in {"xx", "xxx"}


def test_reports_hold_every_finding(consumer: Consumer) -> None:
    reports = ("--contract-report", "r.json", "--contract-report", "r.html", "--junitxml", "r.xml")
    consumer.check_capture(BROKEN, "-k", "capture.finite or capture.runs", *reports)
    written = json.loads((consumer.path / "r.json").read_text(encoding="utf-8"))
    assert [item["clause"] for item in written["findings"]] == ["capture.runs", "capture.finite"]
    assert (written["contract"], written["complaints"]) == ("toy@1.0.0", [])
    assert len(written["digest"]) == 64
    assert "capture.finite" in (consumer.path / "r.html").read_text(encoding="utf-8")
    tree = ET.parse(consumer.path / "r.xml")  # noqa: S314
    verdicts = [node.get("value") for node in tree.iter("property") if node.get("name") == "contract.verdict"]
    assert verdicts == ["passed", "failed"]


def test_a_run_that_checked_nothing_replaces_the_report_of_one_that_did(consumer: Consumer) -> None:
    consumer.check_capture(GOOD, "--contract-report", "r.json")
    consumer.check_capture(GOOD, "-k", "nothing", "--contract-report", "r.json")
    written = json.loads((consumer.path / "r.json").read_text(encoding="utf-8"))
    assert written["findings"] == []
    assert written["complaints"][0].startswith("no clause was checked")


def test_a_github_job_gets_annotations_and_a_summary(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(consumer.path / "summary.md"))
    result = consumer.check_capture(BROKEN, "-k", "capture.finite")
    result.stdout.fnmatch_lines(["::error title=capture.finite on captures.py%3Abroken::FAILED capture.finite*"])
    assert "| capture.finite | failed (must) |" in (consumer.path / "summary.md").read_text(encoding="utf-8")


def test_the_header_says_what_is_checked_and_names_misspelt_variables(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLE3_CONTRACT_TARGTE", "/models/x")
    monkeypatch.setenv("EAGLE3_CONTRACT_SCAN", "full")
    result = consumer.check_capture(GOOD, "-k", "capture.runs")
    result.stdout.fnmatch_lines(
        [
            "eagle3-contracts: *numpy *, pydantic *",
            "contract: */own.toml (set by --contract, --contract-capture, EAGLE3_CONTRACT_SCAN)",
            "contract: capture captures.py:good = */captures.py:good",
            "contract: the variable EAGLE3_CONTRACT_TARGTE is no setting of this version, did you mean *_TARGET?",
        ]
    )


def test_an_option_beats_the_variable_and_the_variable_the_ini_key(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer.pytester.makeini(f"[pytest]\ncontract = own.toml\ncontract_capture = {LOUD}\n")
    arguments = ("--pyargs", "eagle3_contracts.suite", "-k", "capture.runs")
    assert {item["subject"] for item in consumer.findings(*arguments)} == {LOUD}
    monkeypatch.setenv("EAGLE3_CONTRACT_CAPTURE", f"{BROKEN}\n{GOOD}")
    assert {item["subject"] for item in consumer.findings(*arguments)} == {BROKEN, GOOD}
    assert {item["subject"] for item in consumer.findings(*arguments, "--contract-capture", GOOD)} == {GOOD}
