"""``new`` and ``stamp`` at the command line: files, exit codes, words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import embedded
from eagle3_contracts.cli import main
from eagle3_contracts.contract import load_contract
from eagle3_contracts.contract.stamp import STAMP_FILE
from support.snapshots import compare_snapshot, list_unused

SNAPSHOTS = Path(__file__).with_name("snapshots")
TARGET = embedded.embedded_target() / "config.json"
STATES = next(subject.value for subject in embedded.embedded_subjects() if subject.label == "specforge")
TOLD = {
    "new": ("new", "--target", "target/config.json", "--trainer", "speculators", "--name", "own"),
    "new-measured": ("new", "--target", "tiny/config.json", "--trainer", "specforge", "--hidden-states", "states"),
    "new-other-states": ("new", "--target", "tiny/config.json", "--trainer", "angelslim", "--hidden-states", "states"),
    "new-bad-name": ("new", "--target", "tiny/config.json", "--trainer", "specforge", "--name", "Not A Name"),
    "new-absent": ("new", "--target", "absent/config.json", "--trainer", "specforge"),
    "stamp": ("stamp", embedded.CONTRACT, "states", "--tool", "specforge==0.2.0"),
    "stamp-bare": ("stamp", embedded.CONTRACT, "states"),
    "stamp-other": ("stamp", "kimi-k2.5-eagle3", "states"),
}


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    write_config: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in a folder that holds a target, the embedded one, and its states."""
    write_config("llama")
    shutil.copytree(TARGET.parent, tmp_path / "tiny")
    shutil.copytree(STATES, tmp_path / "states", ignore=shutil.ignore_patterns(STAMP_FILE))
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return run_command


@pytest.mark.parametrize("name", TOLD)
def test_what_a_command_tells(run: Callable[..., tuple[int, str, str]], name: str) -> None:
    code, out, err = run(*TOLD[name])
    compare_snapshot(SNAPSHOTS / f"{name}.txt", f"exit code {code}\n{out}{err}")


def test_the_written_document(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run(*TOLD["new-measured"])[0] == 0
    compare_snapshot(SNAPSHOTS / "tiny-eagle3.toml", (tmp_path / "tiny-eagle3.toml").read_text(encoding="utf-8"))


def test_every_snapshot_is_compared_with() -> None:
    assert list_unused(SNAPSHOTS, [*(f"{name}.txt" for name in TOLD), "tiny-eagle3.toml"]) == []


def test_a_written_contract_passes_show_and_its_dataset_passes_check(run: Callable[..., Any]) -> None:
    assert run(*TOLD["new-measured"])[0] == 0
    assert run("show", "./tiny-eagle3.toml")[0] == 0
    assert run("check", "./tiny-eagle3.toml", "--hidden-states", "states", "--target", "tiny")[0] == 0


def test_json_tells_what_was_found_and_what_was_assumed(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, _ = run(*TOLD["new"], "--json", "--out", "other.toml")
    told = json.loads(out)
    assert code == 0
    assert told["file"] == "other.toml"
    assert told["digest"] == load_contract(tmp_path / "other.toml").digest
    found = {fact["place"]: fact for fact in told["found"]}
    assert found["target.hidden_size"] == {
        "place": "target.hidden_size",
        "value": 8192,
        "origin": "config.json: hidden_size",
    }
    assert {"planes", "drafter.rope"} <= {fact["place"] for fact in told["assumed"]}
    assert not set(found) & {fact["place"] for fact in told["assumed"]}


def test_an_existing_file_is_never_overwritten(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("mine", encoding="utf-8")
    code, out, err = run(*TOLD["new"])
    assert (code, out) == (2, "")
    assert "own.toml: exists, and is not overwritten" in err
    assert (tmp_path / "own.toml").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.toml", "states", "target", "tiny"]


def test_a_stamp_is_told_and_the_dataset_still_passes(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, _ = run(*TOLD["stamp"], "--json")
    told = json.loads(out)
    assert code == 0
    assert told["stamp"] == json.loads((tmp_path / "states" / STAMP_FILE).read_text(encoding="utf-8"))
    code, out, _ = run("check", embedded.CONTRACT, "--hidden-states", "states", "--json")
    by_clause = {item["clause"]: item for item in json.loads(out)["findings"]}
    assert code == 0
    assert by_clause["dataset.declaration"]["verdict"] == "passed"
