"""Every fault, written to disk, is shown by the command that comes with it; its sound counterpart raises nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from eagle3_contracts.cli import main
from eagle3_contracts.contract import load_contract
from eagle3_contracts.contract.loading import parse_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults import Fault, find_fault, list_faults
from eagle3_contracts.faults.injecting.datasets import store_embedding
from eagle3_contracts.faults.making import MakingError, make_fault
from eagle3_contracts.faults.making.documents import render_toml
from eagle3_contracts.registry import STAGES
from support.made_faults import check_made
from support.snapshots import compare_snapshot

NAMED = {"ids": lambda fault: fault.id}
SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("fault", list_faults(), **NAMED)
def test_a_fault_on_disk_is_shown_by_its_command(fault: Fault) -> None:
    """``check`` judges the document as well, which may promise an engine what that engine has not."""
    checked = check_made(fault.id)
    assert {item for item in checked.failed() if item.startswith(fault.stage)} == {fault.clause, *fault.companions}
    assert (checked.code, checked.made.exit_code) == (1, 1)


@pytest.mark.parametrize("fault", [item for item in list_faults() if item.stage != "server"], **NAMED)
def test_the_counterpart_of_a_fault_raises_nothing(fault: Fault) -> None:
    checked = check_made(fault.id, sound=True)
    assert checked.failed() == set()
    assert (checked.code, checked.made.exit_code) == (0, 0)


@pytest.mark.parametrize("name", ["server", "server-final-before-norm"])
def test_a_sound_server_raises_nothing(name: str) -> None:
    assert check_made(name, sound=True).code == 0


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_names_what_is_sound(stage: str, tmp_path: Path) -> None:
    assert main(["faults", "make", "--sound", stage, str(tmp_path / "sound")]) == 0
    assert json.loads((tmp_path / "sound" / "fault.json").read_text())["exit_code"] == 0


@pytest.mark.parametrize("fault_id", ["dataset-planes-permuted", "server-drafts-2-of-16", "document-no-tolerance"])
def test_the_folder_says_what_it_holds(
    fault_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["faults", "make", fault_id, "made"]) == 0
    said = capsys.readouterr().out
    told = (tmp_path / "made" / "README.txt").read_text() + (tmp_path / "made" / "fault.json").read_text()
    compare_snapshot(SNAPSHOTS / f"make-{fault_id}.txt", f"{said}\n{told}")


def test_fault_json_names_the_command_that_readme_names(tmp_path: Path) -> None:
    made = make_fault("golden-nan", tmp_path / "made")
    record = json.loads((made.folder / "fault.json").read_text())
    assert shlex.split(record["command"]) == list(made.command)
    assert f"    {record['command']}\n" in (made.folder / "README.txt").read_text()
    assert (record["clause"], record["companions"]) == ("golden.finite", list(find_fault("golden-nan").companions))


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    assert main(["faults", "make", "golden-nan", str(tmp_path)]) == 2
    assert "is not empty; name a new folder" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.txt"]
    assert main(["faults", "make", "golden-nan", str(tmp_path / "kept.txt")]) == 2


@pytest.mark.parametrize(
    ("name", "told"), [("golden-nothing", "no fault 'golden-nothing'"), ("golden", "golden is a stage")]
)
def test_a_name_that_is_no_fault_is_refused(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(MakingError, match=told):
        make_fault(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_contract_is_read_back_as_it_was() -> None:
    contract = store_embedding(load_contract(CONTRACT))
    assert parse_contract(render_toml(contract)).digest == contract.digest


def test_the_lines_of_a_readme_are_lines_of_a_shell(tmp_path: Path) -> None:
    made = make_fault("server-drafts-2-of-16", tmp_path / "made")
    for text in ("\n".join(made.list_commands()), (made.folder / "README.txt").read_text().split("folder:\n")[1]):
        lines = "\n".join(line for line in text.splitlines() if line.startswith(("    ", "python", "eagle3")))
        assert len(lines.splitlines()) == 2
        assert subprocess.run(["bash", "-n", "-c", lines], check=False).returncode == 0  # noqa: S603, S607


def test_a_source_that_names_an_issue_is_linked(tmp_path: Path) -> None:
    made = make_fault("golden-by-other-tools", tmp_path / "made")
    told = (made.folder / "README.txt").read_text()
    assert all(f"https://github.com/vllm-project/vllm/issues/{number}" in told for number in (26191, 21799, 40551))
