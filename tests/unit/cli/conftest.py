from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.cli import main
from support.consumer import CAPTURES, CONTRACT


@dataclass(frozen=True)
class Run:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Run a command in this process; a refusal by argparse counts as its exit code."""

    def run_command(*arguments: str | Path) -> Run:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return run_command


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a contract and captures, and make it the current one."""
    (tmp_path / "own.toml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "captures.py").write_text(CAPTURES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
