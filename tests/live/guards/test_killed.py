"""A killed run of the guard's tests leaves no process of its real servers behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from eagle3_contracts.subjects.servers.launching.processes import Status, lives
from support.server_processes import all_of, everyone, supervisors_under

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        find_spec("sglang") is None, reason="a real SGLang server is needed: pip install tox, then `tox -e sglang-cpu`"
    ),
]

TEST = f"{Path(__file__).with_name('test_refusals.py')}::test_warned_of_the_same_it_serves"
IMPORTED = 100 << 20
"""Bytes that a process of SGLang holds once it imports torch; its small helpers never do."""

LIMIT = 10.0
"""Seconds in which every process must be gone."""


def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    """They are killed while SGLang starts: server, scheduler and detokenizer are there, and nobody asks them yet."""
    folder = tmp_path / "run"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", f"--basetemp={folder}", TEST]
    with (tmp_path / "said").open("wb") as said:
        run = subprocess.Popen(  # noqa: S603
            command, env=outside, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    processes: list[Status] = []
    try:
        while sum(status.resident > IMPORTED for status in processes) < 3 and run.poll() is None:
            processes = [status for number in supervisors_under(str(folder)) for status in all_of(number)]
            time.sleep(0.1)
        assert run.poll() is None, (tmp_path / "said").read_text(encoding="utf-8")
        run.kill()
        killed = time.monotonic()
        while remaining(processes) and time.monotonic() < killed + LIMIT:
            time.sleep(0.1)
        assert not remaining(processes), f"still there after {LIMIT} s"
    finally:
        run.kill()
        run.wait()
        for status in remaining(processes):
            os.kill(status.process.number, signal.SIGKILL)


def remaining(processes: list[Status]) -> list[Status]:
    """List those of them that live, and whatever has joined their groups since."""
    groups = {status.group for status in processes}
    known = [status for status in processes if lives(status.process)]
    return known or [status for status in everyone() if status.group in groups and not status.ended]
