from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.consumer import KEEPER, Consumer


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings and GitHub's variables of the outer run out of the inner one."""
    for name in list(os.environ):
        if name.startswith(("EAGLE3_", "GITHUB_", "PYTEST_")):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _keep_imports() -> Iterator[None]:
    """Set up before ``pytester`` is, and so torn down after it, which forgets imports again."""
    yield
    KEEPER.put_back()


@pytest.fixture
def consumer(pytester: pytest.Pytester) -> Consumer:
    return Consumer(pytester)
