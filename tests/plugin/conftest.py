from __future__ import annotations

import os

# Runs within this process forget what they import; these cannot be imported twice.
import numpy as np  # noqa: F401
import pydantic  # noqa: F401
import pytest

from support.consumer import Consumer


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings and GitHub's variables of the outer run out of the inner one."""
    for name in list(os.environ):
        if name.startswith(("EAGLE3_", "GITHUB_", "PYTEST_")):
            monkeypatch.delenv(name)


@pytest.fixture
def consumer(pytester: pytest.Pytester) -> Consumer:
    return Consumer(pytester)
