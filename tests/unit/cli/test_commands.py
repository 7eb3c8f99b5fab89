from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import cli, embedded
from eagle3_contracts.commands import COMMANDS
from eagle3_contracts.contract import load_contract
from eagle3_contracts.registry import CLAUSES

Runner = Callable[..., Any]
KIMI = "kimi-k2.5-eagle3"


def test_list_names_every_version_of_every_contract(run: Runner) -> None:
    found = run("list", "--json")
    names = [item["contract"] for item in found.json["contracts"]]
    assert {f"{KIMI}@{version}" for version in ("1.0.0", "2.0.0", "3.0.0")} <= set(names)
    assert {item["contract"] for item in found.json["contracts"] if item["name"] == KIMI} == {
        name for name in names if name.startswith(KIMI)
    }
    assert all(name in run("list").out for name in names)


def test_list_clauses_gives_every_clause_with_its_sentence(run: Runner) -> None:
    found = run("list", "--clauses", "--json")
    assert [item["id"] for item in found.json["clauses"]] == [item.id for item in CLAUSES]
    assert all(item["sentence"] and item["why"] for item in found.json["clauses"])
    assert all(item.sentence in run("list", "--clauses").out for item in CLAUSES)


def test_show_prints_a_document_that_reads_back_as_the_same_contract(run: Runner, tmp_path: Path) -> None:
    shown = run("show", f"{KIMI}@2.0.0")
    (tmp_path / "shown.toml").write_text(shown.out, encoding="utf-8")
    assert load_contract(tmp_path / "shown.toml") == load_contract(f"{KIMI}@2.0.0")
    assert shown.code == 0


def test_show_tells_the_defects_of_the_document(run: Runner) -> None:
    assert "# violated contract.final-state (should) on document" in run("show", f"{KIMI}@2.0.0").out
    found = run("show", f"{KIMI}@2.0.0", "--json").json
    violated = [item["clause"] for item in found["findings"] if item["verdict"] == "failed"]
    assert "contract.final-state" in violated
    assert {"contract", "digest", "document", "findings", "summary"} <= found.keys()
    assert found["document"]["planes"][1] | {"norm": None} == {
        "name": "low",
        "boundary": 3,
        "state": "raw",
        "norm": None,
    }


def test_explain_gives_boundaries_and_every_dialect(run: Runner) -> None:
    found = run("explain", f"{KIMI}@2.0.0", "--json").json
    assert found["contract"] == f"{KIMI}@2.0.0"
    assert found["boundaries"] == {"embed": 0, "low": 3, "mid": 31, "high": 59}
    assert found["drafter_input"] == [0, 3, 31]
    keys = {"tool", "versions", "architecture", "ids", "alternatives", "stable", "reason"}
    assert all(keys <= row.keys() for row in found["dialects"])
    assert all(row["ids"] is not None or row["reason"] for row in found["dialects"])


def test_explain_says_in_words_what_its_json_says(run: Runner) -> None:
    text = run("explain", f"{KIMI}@2.0.0").out
    rows = run("explain", f"{KIMI}@2.0.0", "--json").json["dialects"]
    assert "  plane low: boundary 3 (output of layer 2)\n" in text
    assert "  fed to fc, in this order: boundaries 0, 3, 31\n" in text
    for row in rows:
        told = f"  ids {row['ids']}" if row["ids"] is not None else f"  no ids: {row['reason']}"
        assert told in text


def test_diff_names_and_classifies_every_change(run: Runner) -> None:
    found = run("diff", f"{KIMI}@2.0.0", f"{KIMI}@3.0.0", "--json").json
    assert (found["kind"], found["version_suffices"]) == ("breaking", True)
    breaking = {change["place"] for change in found["changes"] if change["kind"] == "breaking"}
    assert {"storage.planes", "drafter.input", "drafter.last_hidden"} <= breaking
    text = run("diff", f"{KIMI}@2.0.0", f"{KIMI}@3.0.0")
    assert text.code == 0
    assert all(place in text.out for place in breaking)
    assert "no change" in run("diff", f"{KIMI}@2.0.0", f"{KIMI}@2.0.0").out


@pytest.mark.parametrize(
    "subject",
    [item for item in embedded.embedded_subjects() if item.stage == "dataset"],
    ids=lambda subject: subject.label,
)
def test_inspect_describes_a_dataset_and_finds_its_contract(run: Runner, subject: Any) -> None:
    found = run("inspect", subject.value, "--json")
    assert found.code == 0
    assert found.json["format"] == subject.label
    assert [plane["rows"] > 0 for plane in found.json["planes"]] == [True] * 4
    assert embedded.CONTRACT in {item["contract"] for item in found.json["contracts"] if item["fits"]}
    text = run("inspect", subject.value).out
    assert f"{subject.value}: {subject.label}" in text
    (fitting,) = [line for line in text.splitlines() if line.startswith("can be of: ")]
    assert embedded.CONTRACT in fitting


def test_inspect_of_what_it_cannot_read_is_no_success(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "data_0.pt").write_bytes(b"PK\x03\x04 half a file")
    found = run("inspect", tmp_path)
    assert found.code == 3
    assert "problem: " in found.out
    assert run("inspect", tmp_path / "absent").code == 2
    assert run("inspect", "").code == 2


def test_record_is_refused_in_ci(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    found = run("record", embedded.NAME)
    assert (found.code, found.out) == (2, "")
    assert "recording is refused where CI is set" in found.err


def test_faults_lists_each_with_the_clause_that_catches_it(run: Runner) -> None:
    found = run("faults", "list", "--json").json
    assert {fault["clause"] for fault in found["faults"]} <= {item.id for item in CLAUSES}
    assert found["faults"]
    text = run("faults").out
    assert all(f"{fault['id']}: caught by {fault['clause']}" in text for fault in found["faults"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_json_and_help(run: Runner, command: str) -> None:
    found = run(command, "--help")
    assert found.code == 0
    assert "--json" in found.out


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eagle3_contracts", "list", "--clauses", "--json"]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        process.wait()
    assert errors == b""
    assert process.returncode == cli.BROKEN_PIPE


def test_a_defect_of_this_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> int:
        raise RuntimeError("a defect")

    monkeypatch.setattr("eagle3_contracts.commands.catalog.run", crash)
    with pytest.raises(RuntimeError, match="a defect"):
        cli.main(["list"])
