"""The ways in for other projects: a test of their own with a stage's clauses, on a subject that a fixture makes."""

from __future__ import annotations

import pytest

from eagle3_contracts.suite import parametrize_with_clauses
from support.consumer import BROKEN, GOOD, Consumer, count, said

OWN = """
import pytest
from eagle3_contracts.suite import parametrize_with_clauses

{fixtures}

@parametrize_with_clauses("capture")
def test_capture(contract_check):
    found = contract_check()
    assert found[0].verdict == "passed"
"""
SUBJECT = """
@pytest.fixture
def contract_subject(request):
    return request.config.rootpath / "captures.py:{function}"
"""
DOCUMENT = """
@pytest.fixture
def contract_document(request):
    return request.config.rootpath / "{file}"
"""


def write(consumer: Consumer, *fixtures: str) -> None:
    consumer.pytester.makepyfile(test_own=OWN.format(fixtures="".join(fixtures)))


def test_a_fixture_gives_the_subject(consumer: Consumer) -> None:
    write(consumer, SUBJECT.format(function="good"))
    result = consumer.run("--contract", "own.toml", "-k", "capture.runs or capture.finite")
    result.assert_outcomes(passed=2, deselected=count("capture") - 2)
    assert result.ret == pytest.ExitCode.OK
    write(consumer, SUBJECT.format(function="broken"))
    result = consumer.run("--contract", "own.toml", "-k", "capture.finite")
    result.stdout.fnmatch_lines(["FAILED capture.finite (must) on captures.py:broken"])


FUNCTION = """
from captures import good

calls = []

@pytest.fixture(scope="session")
def contract_subject():
    def capture(tokens):
        calls.append(tokens)
        return good(tokens)
    return capture
"""


def test_a_fixture_gives_the_capture_itself_which_runs_once_for_all_clauses(consumer: Consumer) -> None:
    counted = "\n\ndef test_last(request):\n    assert 0 < len(calls) < 40\n"
    consumer.pytester.makepyfile(test_own=OWN.format(fixtures=FUNCTION) + counted)
    chosen = "capture.runs or capture.finite or capture.dtype or capture.width or last"
    result = consumer.run("--contract", "own.toml", "-k", chosen)
    result.assert_outcomes(passed=5, deselected=count("capture") - 4)
    assert {item["subject"] for item in consumer.findings("--contract", "own.toml", "-k", chosen)} == {"capture"}


def test_a_function_is_no_dataset(consumer: Consumer) -> None:
    text = OWN.format(fixtures=FUNCTION).replace('clauses("capture")', 'clauses("dataset")')
    consumer.pytester.makepyfile(test_own=text)
    result = consumer.run("--contract", "own.toml", "-k", "dataset.rows")
    assert "the fixture contract_subject gave a function for a dataset; give a path, a Subject" in said(result)


def test_a_fixture_gives_the_contract(consumer: Consumer) -> None:
    write(consumer, SUBJECT.format(function="good"), DOCUMENT.format(file="own.toml"))
    consumer.run("-k", "capture.runs").assert_outcomes(passed=1, deselected=count("capture") - 1)


def test_a_broken_contract_from_a_fixture_fails_without_a_traceback(consumer: Consumer) -> None:
    write(consumer, SUBJECT.format(function="good"), DOCUMENT.format(file="absent.toml"))
    result = consumer.run("-k", "capture.runs")
    result.assert_outcomes(failed=1, deselected=count("capture") - 1)
    assert "absent.toml: cannot be read" in said(result)
    assert "Traceback" not in said(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_without_a_fixture_the_options_give_the_subject(consumer: Consumer) -> None:
    write(consumer)
    arguments = ("--contract", "own.toml", "-k", "capture.finite", "--contract-capture")
    consumer.run(*arguments, GOOD).assert_outcomes(passed=1, deselected=count("capture") - 1)
    consumer.run(*arguments, BROKEN).assert_outcomes(failed=1, deselected=count("capture") - 1)


def test_without_any_subject_the_test_fails_and_says_what_to_give(consumer: Consumer) -> None:
    write(consumer)
    result = consumer.run("--contract", "own.toml", "-k", "capture.finite")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no subject was given, so there is nothing to check" in said(result)


def test_a_test_of_clauses_that_never_checks_them_proves_nothing(consumer: Consumer) -> None:
    consumer.pytester.makepyfile(
        test_own="from eagle3_contracts.suite import parametrize_with_clauses\n"
        "@parametrize_with_clauses('capture')\ndef test_capture(contract_check): pass\n"
    )
    result = consumer.run("--contract", "own.toml", "--contract-capture", GOOD)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f"{count('capture')} tests ended without a finding" in said(result)


def test_a_test_of_clauses_without_the_argument_is_told_which(consumer: Consumer) -> None:
    consumer.pytester.makepyfile(
        test_own="from eagle3_contracts.suite import parametrize_with_clauses\n"
        "@parametrize_with_clauses('capture')\ndef test_capture(): pass\n"
    )
    assert "a test of clauses takes the argument contract_check" in said(consumer.run())


def test_a_stage_that_does_not_exist_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="no stage 'datasets'; this version has contract, capture, dataset"):
        parametrize_with_clauses("datasets")
