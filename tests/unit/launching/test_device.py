"""Where there is no CUDA device, one sentence says why; it is said before anything is installed."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eagle3_contracts.subjects.servers.launching import device, device_here

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the driver's tool, the only program on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(device.VISIBLE, raising=False)
    return tmp_path / device.TOOL


def write(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tool.chmod(0o755)


def test_a_listed_device_is_taken(tool: Path) -> None:
    write(tool, "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'")
    assert device_here() == "cuda"
    assert device.tell_absence() == ""


@pytest.mark.parametrize("hidden", ["", "-1", " "])
def test_devices_that_are_hidden_are_not_there(tool: Path, hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tool, "echo 'GPU 0: NVIDIA H200 (UUID: GPU-0)'")
    monkeypatch.setenv(device.VISIBLE, hidden)
    assert device_here() == "cpu"
    assert "hides every device" in device.tell_absence()


def test_each_absence_has_its_reason(tool: Path) -> None:
    assert "not on PATH" in device.why_no_cuda()
    write(tool, "echo 'No devices were found'")
    assert device.why_no_cuda() == "nvidia-smi -L lists no device"
    tool.write_bytes(b"\x7fELF no program")
    assert "did not run to its end" in device.why_no_cuda()
    assert device_here() == "cpu"


def test_as_a_program_it_needs_no_package_and_fails_with_one_sentence(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PATH": str(tmp_path)}
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-S", "-E", device.__file__], capture_output=True, text=True, env=environment, check=False
    )
    assert found.returncode == 1
    assert found.stdout == ""
    (sentence,) = found.stderr.splitlines()
    assert sentence.startswith("No CUDA device: nvidia-smi")
    assert sentence.count(". ") == 0


def test_tox_asks_before_it_installs_anything() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    section = parser["testenv:gpu"]
    first = section["commands_pre"].split("\n")[1].split()
    assert section["skip_install"] == "true"
    assert "deps" not in section
    assert first == ["python", str(Path(device.__file__).relative_to(ROOT))]
