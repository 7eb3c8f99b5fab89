"""A variable that this project reads or sets is none that a run warns of as a typing error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eagle3_contracts.testing.settings import unknown_variables

ROOT = Path(__file__).resolve().parents[3]
NAME = re.compile(r"\bEAGLE3_CONTRACTS?_[A-Z0-9_]*[A-Z0-9]\b(?!\*)")
FILES = [
    *sorted((ROOT / "contracts" / "eagle3_contracts").rglob("*.py")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tox.ini", "pyproject.toml")),
]


def test_every_variable_that_is_named_is_known() -> None:
    if not (ROOT / "tox.ini").is_file():
        pytest.skip("no source tree: the files that name variables are not here")
    named = {name for path in FILES for name in NAME.findall(path.read_text(encoding="utf-8"))}
    assert "EAGLE3_CONTRACTS_SGL_KERNEL" in named
    assert unknown_variables(dict.fromkeys(named, "x")) == {}
