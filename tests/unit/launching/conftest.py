"""Plans of a dummy server, and a look at which of its processes live."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts.subjects.servers.launching import LaunchPlan
from eagle3_contracts.subjects.servers.launching.processes import read_status
from support import dummy_server

LIMIT = 10.0
"""Seconds in which every process must be gone."""

Plan = Callable[..., LaunchPlan]


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """The file in which the dummy server lists its processes."""
    return tmp_path / "processes"


@pytest.fixture
def plan(listed: Path) -> Plan:
    """Plan a dummy server with the given flags."""

    def make(*flags: str, start_limit: float = 30.0, memory_limit: int | None = None) -> LaunchPlan:
        command = (sys.executable, dummy_server.__file__, "--port", "{port}", "--list", str(listed), *flags)
        return LaunchPlan("plain", "cpu", command, start_limit=start_limit, memory_limit=memory_limit)

    return make


@pytest.fixture
def living(listed: Path) -> Callable[[], list[int]]:
    """List the server's processes that live."""

    def look() -> list[int]:
        numbers = [int(line) for line in listed.read_text(encoding="ascii").split()] if listed.exists() else []
        found = [read_status(number) for number in numbers]
        return [status.process.number for status in found if status is not None and not status.ended]

    return look


@pytest.fixture
def assert_gone(living: Callable[[], list[int]], listed: Path) -> Callable[[], float]:
    """Demand that every process of the server ends in time; give the seconds it took."""

    def wait() -> float:
        assert listed.exists(), "the server never ran, so nothing is shown"
        begun = time.monotonic()
        while living() and time.monotonic() - begun < LIMIT:
            time.sleep(0.05)
        assert not living(), f"still there after {LIMIT} s"
        return time.monotonic() - begun

    return wait
