"""Load the plugin and set this repository's defaults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["eagle3_contracts.plugin", "pytester"]

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("mutants", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

TESTS = Path(__file__).parent / "tests"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what ``pytest -m contract`` would deselect: all contract items lie in tests/contract."""
    if config.option.markexpr != "contract" or collection_path.parent != TESTS:
        return None
    return collection_path.name != "contract" or None
