"""A run that checks nothing fails, and says why: with workers and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.consumer import BROKEN, GOOD, Consumer, count, said

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
Workers = tuple[str, ...]


@WORKERS
def test_no_subject_is_a_usage_error(consumer: Consumer, workers: Workers) -> None:
    result = consumer.check("--contract", "own.toml", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "no subject was given, so there is nothing to check; give one (--contract-capture CODE" in said(result)


@WORKERS
def test_no_contract_is_a_usage_error(consumer: Consumer, workers: Workers) -> None:
    result = consumer.check("--contract-capture", GOOD, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "subjects were given, but no contract to check them against; name one: --contract NAME" in said(result)


@pytest.mark.parametrize(
    "option", ["--contract", "--contract-capture", "--contract-hidden-states", "--contract-target"]
)
def test_an_empty_option_is_a_usage_error(consumer: Consumer, option: str) -> None:
    result = consumer.check_capture(GOOD, f"{option}=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{option} is set but empty, so it is not known what to check" in said(result)


@WORKERS
def test_an_empty_variable_is_a_usage_error(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, workers: Workers
) -> None:
    monkeypatch.setenv("EAGLE3_CONTRACT_TARGET", "")
    result = consumer.check(*workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "EAGLE3_CONTRACT_TARGET is set but empty, so it is not known what to check" in said(result)


@WORKERS
def test_nothing_selected_fails(consumer: Consumer, workers: Workers) -> None:
    result = consumer.check_capture(GOOD, "-m", "contract", "-k", "nothing", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"no clause was checked: {count()} were collected, and all of them were deselected (-k, -m)" in said(result)


@WORKERS
def test_clauses_deselected_beside_other_tests_fail_only_if_they_were_asked_for(
    consumer: Consumer, workers: Workers
) -> None:
    consumer.pytester.makepyfile(
        test_own="import pytest\nfrom eagle3_contracts.suite.test_capture import test_clause\n"
        "@pytest.mark.contract\ndef test_other(): pass\n"
    )
    quiet = consumer.run("-k", "other", *workers)
    assert quiet.ret == pytest.ExitCode.OK
    asked = consumer.run("-k", "other", "-m", "contract", *workers)
    assert asked.ret == pytest.ExitCode.TESTS_FAILED
    assert f"no clause was checked: {count('capture')} were collected, and all of them were deselected" in said(asked)


@WORKERS
def test_all_skipped_fails(consumer: Consumer, workers: Workers) -> None:
    result = consumer.check_capture(GOOD, "-k", "capture.boundary or dataset", *workers)
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] == 1 + count("dataset")
    assert "passed" not in outcomes
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no clause passed or failed, so this run proves nothing: no dataset was given; 1 skipped" in said(result)


def test_options_without_any_clause_to_check_fail(consumer: Consumer) -> None:
    consumer.pytester.makepyfile(test_own="def test_other(): pass")
    result = consumer.run("--contract", "own.toml", "--contract-capture", GOOD)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no clause was checked: --contract was given, but no test that holds clauses was collected" in said(result)


def test_asking_for_contract_tests_where_there_are_none_fails(consumer: Consumer) -> None:
    consumer.pytester.makepyfile(test_own="def test_other(): pass")
    result = consumer.run("-m", "contract")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no clause was checked: -m contract was given, but no test that holds clauses" in said(result)


def test_a_repository_without_contracts_is_left_alone(consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAGLE3_CONTRACT_TARGET", "")
    consumer.pytester.makepyfile(
        test_own="import pytest\n@pytest.mark.contract('provider')\ndef test_other(): pass\ndef test_more(): pass"
    )
    for arguments in ((), ("-m", "contract"), ("-m", "not contract"), ("-n", "2")):
        if arguments != ("-m", "contract"):
            assert consumer.run(*arguments).ret == pytest.ExitCode.OK
    monkeypatch.delenv("EAGLE3_CONTRACT_TARGET")
    result = consumer.run("-m", "contract")
    assert result.ret == pytest.ExitCode.OK
    assert "EAGLE-3" not in said(result)


@pytest.mark.parametrize("arguments", [("--co",), ("--fixtures",), ("--setup-plan",)], ids=lambda value: value[0])
def test_listing_is_no_run(consumer: Consumer, arguments: Workers) -> None:
    assert consumer.check_capture(GOOD, *arguments).ret == pytest.ExitCode.OK
    assert not (consumer.path / "imported.txt").exists()


def test_a_broken_contract_is_a_usage_error_without_a_traceback(consumer: Consumer) -> None:
    (consumer.path / "own.toml").write_text("schema = 2\n", encoding="utf-8")
    for workers in ((), ("-n", "2")):
        result = consumer.check_capture(GOOD, *workers)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "written in another format" in said(result)
        assert "Traceback" not in said(result)


def test_a_run_that_decides_something_keeps_its_own_exit_status(consumer: Consumer) -> None:
    assert consumer.check_capture(GOOD).ret == pytest.ExitCode.OK
    assert consumer.check_capture(BROKEN).ret == pytest.ExitCode.TESTS_FAILED


def test_a_report_that_cannot_be_written_fails_the_run(consumer: Consumer) -> None:
    occupied = consumer.path / "report.json"
    (occupied / "x").mkdir(parents=True)
    result = consumer.check_capture(GOOD, "--contract-report", "report.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"the report {Path(occupied)} cannot be written: " in said(result)
