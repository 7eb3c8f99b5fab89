from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.wheels import WHEELS, Sources


@pytest.fixture(scope="session")
def sources(request: pytest.FixtureRequest) -> Iterator[Sources]:
    """The wheels: in the folder that PEER_WHEELS names, else in pytest's cache; what is missing is downloaded."""
    named = os.environ.get(WHEELS)
    found = Sources(Path(named) if named else Path(request.config.cache.mkdir("dialect-wheels")))
    yield found
    found.close()
