"""What a run on a GPU says that it ran on and from. The driver's tool is a script here; git is real."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.gpu.machine import FIELDS, WRITTEN_TO, read_commit, read_machine
from support.gpu.record import name_command

LISTED = f'[ "$1" = "--query-gpu={FIELDS}" ] && echo "Made up, 9.0, 143771 MiB, 580.1"'


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for nvidia-smi, found before any other."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path / "nvidia-smi"


def write(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(0o755)


def test_the_device_is_the_drivers(tool: Path) -> None:
    write(tool, LISTED)
    found = read_machine("13.0")
    assert (found.device, found.capability, found.driver, found.cuda) == ("Made up", "9.0", "580.1", "13.0")
    assert found.memory_gib == 140.4


def test_the_first_visible_device_is_asked_for(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tool, 'echo "Device $4, 9.0, 1024 MiB, 580.1"')
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert read_machine("13.0").device == "Device 3"


def test_a_tool_that_names_no_device_is_an_error(tool: Path) -> None:
    write(tool, "echo 'No devices were found'; exit 6")
    with pytest.raises(RuntimeError, match="names no device"):
        read_machine("13.0")


def test_a_build_of_torch_for_cpus_is_an_error(tool: Path) -> None:
    write(tool, LISTED)
    with pytest.raises(RuntimeError, match="build for CPUs"):
        read_machine(None)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    found = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603, S607
    return found.stdout.strip()


def test_a_tree_is_dirty_by_what_is_no_evidence(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "-m", "m")
    commit = git(tmp_path, "rev-parse", "HEAD")
    evidence = tmp_path / WRITTEN_TO
    evidence.parent.mkdir(parents=True)
    evidence.write_text("{}")
    assert read_commit(tmp_path) == (commit, False)
    (tmp_path / "new").write_text("b")
    assert read_commit(tmp_path) == (commit, True)


def test_without_git_the_commit_is_named_or_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RuntimeError, match="--gpu-commit=SHA"):
        read_commit(tmp_path)
    assert read_commit(tmp_path, "a" * 40) == ("a" * 40, False)
    assert read_commit(tmp_path, f"{'a' * 40}-dirty") == ("a" * 40, True)


def test_a_command_says_nothing_of_where_the_repository_lies() -> None:
    said = name_command(("/somewhere/tests/live/gpu", "-q"), Path("/somewhere"))
    assert said == "pytest tests/live/gpu -q"
