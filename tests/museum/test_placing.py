"""``faults make`` leaves a whole folder or nothing, and names what stands in its way."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eagle3_contracts.cli import main
from eagle3_contracts.faults.making import MakingError, make_fault
from eagle3_contracts.faults.making.placing import place_folder

FAULT = "document-no-tolerance"
LIMITED = """
import resource, sys
from eagle3_contracts.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(["faults", "make", *sys.argv[2:]]))
"""


@pytest.mark.parametrize(
    "fault_id",
    ["dataset-planes-permuted", "checkpoint-head-shards-swapped", "golden-nan", "capture-keys-left-over", FAULT],
)
@pytest.mark.parametrize("there", [False, True], ids=["new", "empty"])
def test_what_cannot_be_written_whole_leaves_nothing(fault_id: str, there: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Files of more than so many bytes cannot be written: safetensors, torch.save, a copied file, a text."""
    folder = tmp_path / ("made" if there else "deep/in/made")
    if there:
        folder.mkdir()
    limit = "200" if fault_id == FAULT else "4096"
    command = [sys.executable, "-c", LIMITED, limit, fault_id, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert ran.returncode == 2, ran.stderr
    told = re.fullmatch(
        r"eagle3-contracts: (.*) cannot be written: (File too large|torch\.save could not write a file whole); "
        "nothing was left behind; name a folder in a place that can be written to and has room\n",
        ran.stderr,
    )
    assert told is not None, ran.stderr
    assert told[1] == str(folder)
    assert sorted(tmp_path.rglob("*")) == ([folder] if there else [])
    assert make_fault(fault_id, folder).folder == folder


def test_an_empty_folder_stays_the_folder_that_it_is(tmp_path: Path) -> None:
    before = tmp_path.stat()
    make_fault(FAULT, tmp_path)
    assert tmp_path.stat().st_ino == before.st_ino
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["README.txt", "contract.toml", "fault.json"]


def test_a_new_folder_has_the_mode_of_any_folder(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    make_fault(FAULT, tmp_path / "made")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["made", "other"]


def test_a_defect_of_the_program_is_no_fault_of_the_place(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        place_folder(tmp_path / "in" / "made", fail)
    assert list(tmp_path.iterdir()) == []


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to("nowhere")
    for way, reason in ((file, "is a file"), (link, "is a link to nowhere, which is not there")):
        for folder in (way, way / "made"):
            told = f"{way} {reason}; name a new folder; nothing is ever overwritten"
            with pytest.raises(MakingError, match=f"^{re.escape(told)}$"):
                make_fault(FAULT, folder)
    assert file.read_text() == "mine"
    assert (link.is_symlink(), link.exists()) == (True, False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("name", ["", "made"])
def test_a_folder_without_permission_is_named(name: str, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(MakingError, match=r"cannot be written: Permission denied; nothing was left behind"):
        make_fault(FAULT, closed / name)


def test_a_folder_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["faults", "make", FAULT, ""])
    assert stopped.value.code == 2
    assert "argument DIR: the folder has no name" in capsys.readouterr().err


def test_a_folder_named_like_an_option_is_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["faults", "make", FAULT, "--", "-x"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "cd " in line]
    command = f"{line.removeprefix('run').strip()} && pwd"
    bash = shutil.which("bash")
    assert bash is not None
    ran = subprocess.run([bash, "-c", command], capture_output=True, text=True, check=False)  # noqa: S603
    assert ran.stdout.strip() == str(tmp_path / "-x"), shlex.quote(ran.stderr)
