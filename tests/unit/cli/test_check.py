from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import embedded
from support.consumer import BROKEN, CRASHING, GOOD, LOUD, count

Runner = Callable[..., Any]
DATASETS = [subject for subject in embedded.embedded_subjects() if subject.stage == "dataset"]


@pytest.mark.parametrize(
    ("subjects", "options", "code"),
    [
        ([GOOD], [], 0),
        ([LOUD], [], 0),
        ([LOUD], ["--strict"], 1),
        ([BROKEN], [], 1),
        ([CRASHING], [], 1),
        ([BROKEN, "captures.py:absent"], [], 2),
        (["captures.py:absent"], [], 2),
        ([""], [], 2),
    ],
    ids=["sound", "should", "should, strict", "must", "crash", "must, and one not there", "not there", "empty"],
)
def test_the_exit_code_is_the_first_that_applies(
    run: Runner, toy: Path, subjects: list[str], options: list[str], code: int
) -> None:
    arguments = [part for subject in subjects for part in ("--capture", subject)]
    assert run("check", "own.toml", *arguments, *options).code == code
    assert toy.is_dir()


def test_something_unchecked_without_a_violation_is_3(run: Runner, toy: Path) -> None:
    text = (toy / "own.toml").read_text(encoding="utf-8")
    (toy / "own.toml").write_text(text.partition("[tolerance.float32]")[0], encoding="utf-8")
    found = run("check", "own.toml", "--capture", GOOD)
    assert found.code == 3
    assert "COULD NOT CHECK capture.request-isolation (must) on captures.py:good" in found.out


def test_a_dataset_without_a_sample_is_no_success(run: Runner, toy: Path) -> None:
    (toy / "data").mkdir()
    found = run("check", "own.toml", "--hidden-states", "data", "--json")
    assert found.code in {1, 3}
    verdicts = {item["verdict"] for item in found.json["findings"] if item["stage"] == "dataset"}
    assert "passed" not in verdicts


def test_json_has_the_documented_shape(run: Runner) -> None:
    dataset = DATASETS[0]
    found = run("check", embedded.CONTRACT, "--hidden-states", dataset.value, "--json")
    assert found.code == 0
    assert list(found.json) == ["contract", "digest", "subjects", "findings", "summary"]
    assert found.json["contract"] == embedded.CONTRACT
    assert found.json["subjects"] == [{"stage": "dataset", "value": dataset.value, "label": dataset.label}]
    assert {(item["stage"], item["subject"]) for item in found.json["findings"]} == {
        ("contract", "document"),
        ("dataset", dataset.label),
    }
    assert len({item["clause"] for item in found.json["findings"]}) == count("contract", "dataset")
    assert sum(found.json["summary"].values()) == len(found.json["findings"])
    keys = {tuple(item) for item in found.json["findings"]}
    assert keys == {
        (
            "clause", "level", "verdict", "stage", "subject", "observed", "expected", "rung", "where", "measure",
            "bound", "hint",
        )
    }  # fmt: skip


def test_text_gives_a_block_per_violation_and_counts_the_rest(run: Runner, toy: Path) -> None:
    found = run("check", "own.toml", "--capture", BROKEN)
    assert f"capture {BROKEN}: {toy / 'captures.py'}:broken" in found.out
    assert "\nFAILED capture.finite (must) on captures.py:broken\n  observed: " in found.out
    assert f"\nskipped on {BROKEN}\n  clauses:  capture.boundary, capture.order" in found.out
    assert "\ncapture    " in found.out
    assert found.err == ""


def test_without_a_subject_only_the_document_is_checked_and_that_is_said(run: Runner, toy: Path) -> None:
    found = run("check", "own.toml")
    assert found.code == 0
    assert found.out.endswith("no subject was given: only the contract's own document was checked\n")
    assert toy.is_dir()


def test_headers_alone_are_read_on_demand(run: Runner) -> None:
    found = run("check", embedded.CONTRACT, "--hidden-states", DATASETS[0].value, "--scan", "headers", "--json")
    by_clause = {item["clause"]: item for item in found.json["findings"]}
    assert by_clause["dataset.rows"]["verdict"] == "passed"
    assert by_clause["dataset.finite"]["verdict"] == "skipped"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-contract"], "no-such-contract"),
        (["absent.toml"], "absent.toml: cannot be read"),
        (["own.toml", "--hidden-states", "absent"], "there is no such file or folder"),
        (["own.toml", "--hidden-states="], "--hidden-states is empty, so it is not known what to check"),
        (["own.toml", "--target="], "--target is empty, so it is not known what to check"),
        (["own.toml", "--scan", "all"], "invalid choice: 'all'"),
        ([], "the following arguments are required: NAME"),
    ],
)
def test_what_the_user_can_mend_is_one_sentence_on_stderr_and_code_2(
    run: Runner, toy: Path, arguments: list[str], sentence: str
) -> None:
    found = run("check", *arguments)
    assert (found.code, found.out) == (2, "")
    assert sentence in found.err
    assert "Traceback" not in found.err
    assert toy.is_dir()
