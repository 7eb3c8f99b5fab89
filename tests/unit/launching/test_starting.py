"""A launched server answers or is an error with its log; ended, it leaves no process behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from eagle3_contracts.subjects.servers.launching import LaunchPlan, NotStartedError, share, start
from eagle3_contracts.subjects.servers.launching.running import LOG_LIMIT

Plan = Callable[..., LaunchPlan]


def test_a_started_server_answers_and_ends_with_all_its_processes(
    plan: Plan, living: Callable[[], list[int]], assert_gone: Callable[[], float]
) -> None:
    with start(plan("--children")) as server:
        with urlopen(f"{server.url}/health", timeout=5) as answer:  # noqa: S310
            assert answer.status == 200
        assert server.alive()
        assert len(living()) == 3
        folder = server.folder
    assert assert_gone() < 1
    assert not server.alive()
    assert not folder.exists()


def test_a_server_holds_nothing_open_that_its_starter_has_open(plan: Plan) -> None:
    """Whoever reads a pipe of the starter's sees its end with the starter, though the server lives on."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003
    os.set_blocking(reading, False)
    with start(plan()), os.fdopen(reading, "rb") as pipe:
        os.close(writing)
        assert pipe.read() == b"", "somebody still holds the other end"


def test_a_server_that_ends_is_an_error_with_its_status_and_its_log(plan: Plan) -> None:
    with pytest.raises(NotStartedError) as caught:
        start(plan("--end", "7", "--say", "no such model: tiny"))
    message = str(caught.value)
    assert "the server ended by itself before it answered, with exit status 7" in message
    assert "no such model: tiny" in message
    assert "dummy_server.py --port" in message


def test_a_server_that_ends_leaves_no_folder(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log is in the message; the temporary folder was of its starter's own making."""
    folders = tmp_path / "temporary"
    folders.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    with pytest.raises(NotStartedError):
        start(plan("--end", "7"))
    assert not list(folders.iterdir())


def test_a_server_that_never_answers_is_an_error_and_is_ended(plan: Plan, assert_gone: Callable[[], float]) -> None:
    with pytest.raises(NotStartedError, match=r"it did not answer within 1\.5 s"):
        start(plan("--deaf", "--children", start_limit=1.5))
    assert_gone()


def test_a_server_that_takes_too_much_memory_is_ended(plan: Plan, assert_gone: Callable[[], float]) -> None:
    with pytest.raises(NotStartedError, match=r"held 0\.\d GiB, more than the limit of 0\.1"):
        start(plan("--hold", str(300 << 20), "--deaf", memory_limit=100 << 20))
    assert_gone()


def test_a_port_that_another_took_is_tried_anew(plan: Plan, listed: Path) -> None:
    with start(plan("--taken", "2")):
        assert len(listed.read_text(encoding="ascii").split()) == 3


def test_the_log_keeps_the_first_and_the_last_lines_and_stays_small(plan: Plan) -> None:
    lines = 3 * LOG_LIMIT // 1000
    with start(plan("--lines", str(lines))) as server:
        deadline = time.monotonic() + 10
        while f"line {lines - 1} " not in server.tail() and time.monotonic() < deadline:
            time.sleep(0.1)
        text = server.log.read_text(encoding="ascii")
    assert len(text) <= LOG_LIMIT + 1001
    assert "line 0 " in text
    assert f"line {lines - 1} " in text
    assert f"line {lines // 2} " not in text
    assert "bytes left out" in text


def test_a_failed_start_is_told_to_the_next_and_not_tried_again(plan: Plan, tmp_path: Path, listed: Path) -> None:
    messages = []
    for _ in range(2):
        with pytest.raises(NotStartedError) as caught:
            share(plan("--end", "3"), tmp_path)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert len(listed.read_text(encoding="ascii").split()) == 1


def test_a_server_that_died_is_started_anew_for_the_next(plan: Plan, tmp_path: Path, listed: Path) -> None:
    first = share(plan(), tmp_path)
    os.kill(int(listed.read_text(encoding="ascii").split()[0]), signal.SIGKILL)
    deadline = time.monotonic() + 5
    while first.alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not first.alive()
    with share(plan(), tmp_path) as second:
        assert second.alive()
    first.stop()
    assert len(listed.read_text(encoding="ascii").split()) == 2


def test_other_commands_are_other_servers(plan: Plan, tmp_path: Path) -> None:
    with share(plan(), tmp_path) as one, share(plan("--say", "another"), tmp_path) as other:
        assert one.url != other.url
