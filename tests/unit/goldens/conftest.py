"""The embedded recording, and a copy of it that a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eagle3_contracts.embedded import NAME, VERSION
from eagle3_contracts.subjects.goldens import Golden, golden_root, open_golden


@pytest.fixture(scope="session")
def golden() -> Golden:
    return open_golden(NAME, VERSION)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a copy of the recordings."""
    return Path(shutil.copytree(golden_root(), tmp_path / "golden"))


@pytest.fixture
def folder(root: Path) -> Path:
    return root / NAME / VERSION
