"""What lies at the top of the repository is fixed: whoever looks for a thing knows where it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FIXED = {
    *(".ci", ".github", "contracts", "golden", "tests"),
    *("conftest.py", "pyproject.toml", "tox.ini", ".gitignore"),
    *("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"),
}


def test_the_top_level_is_fixed() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no git checkout: what belongs to the repository is not known here")
    told = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    assert {line.partition("/")[0] for line in told.stdout.splitlines()} == FIXED
