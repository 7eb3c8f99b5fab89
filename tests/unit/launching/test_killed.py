"""Whoever is killed, no process of the server remains: real processes, real SIGKILLs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from eagle3_contracts.subjects.servers.launching import LaunchPlan, share
from eagle3_contracts.subjects.servers.launching.processes import read_status

Plan = Callable[..., LaunchPlan]

USER = """
import sys, time
from pathlib import Path
from eagle3_contracts.subjects.servers.launching import LaunchPlan, share
plan = LaunchPlan("plain", "cpu", tuple(sys.argv[2:]), start_limit=30.0)
print(share(plan, Path(sys.argv[1])).url, flush=True)
time.sleep(600)
"""
LEAVING = """
import sys
from pathlib import Path
from eagle3_contracts.subjects.servers.launching import LaunchPlan, share
server = share(LaunchPlan("plain", "cpu", tuple(sys.argv[2:]), start_limit=30.0), Path(sys.argv[1]))
print(server.url, flush=True)
sys.stdin.read()
server.stop()
"""
CONTROLLER = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", os.environ["USER_CODE"], *sys.argv[1:]],
    env={**os.environ, "PYTEST_XDIST_WORKER": "gw0"})
time.sleep(600)
"""
TESTS = """
import os, sys, time
from pathlib import Path
import pytest
from eagle3_contracts.subjects.servers.launching import LaunchPlan, share

@pytest.mark.parametrize("number", range(2))
def test_needs_the_server(number):
    folder = Path(os.environ["SHARED"])
    with share(LaunchPlan("plain", "cpu", tuple(eval(os.environ["COMMAND"])), start_limit=30.0), folder) as server:
        (folder / f"user-{os.getpid()}").write_text(server.url)
        time.sleep(600)
"""


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Run Python code in a process that is killed at the end of the test if it still lives."""
    spawned: list[subprocess.Popen[str]] = []
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    def run(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**outside, **environment},
            start_new_session=True,
        )
        spawned.append(process)
        return process

    yield run
    for process in spawned:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    """Kill this process alone; it stays a zombie, as a worker does whose controller has not looked."""
    os.kill(process.pid, signal.SIGKILL)


def test_a_killed_test_process_takes_the_server_along(
    plan: Plan, tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]], assert_gone: Callable[[], float]
) -> None:
    user = spawn("-c", USER, str(tmp_path), *plan("--children").command)
    assert url_of(user).startswith("http://127.0.0.1:")
    kill(user)
    assert_gone()


def test_one_server_for_all_that_ends_with_the_last_of_them(
    plan: Plan,
    tmp_path: Path,
    spawn: Callable[..., subprocess.Popen[str]],
    living: Callable[[], list[int]],
    assert_gone: Callable[[], float],
) -> None:
    command = plan("--children").command
    users = [spawn("-c", USER, str(tmp_path), *command) for _ in range(3)]
    assert len({url_of(user) for user in users}) == 1
    processes = living()
    assert len(processes) == 3
    for user in users[:2]:
        kill(user)
    time.sleep(1.5)
    assert living() == processes
    kill(users[2])
    assert_gone()


def test_a_user_that_is_killed_while_it_starts_the_server_leaves_it_to_nobody(
    plan: Plan, tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]], listed: Path,
    assert_gone: Callable[[], float],
) -> None:  # fmt: skip
    user = spawn("-c", USER, str(tmp_path), *plan("--deaf", "--children").command)
    deadline = time.monotonic() + 20
    while not listed.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    kill(user)
    assert_gone()


def test_a_killed_controller_takes_the_server_along_though_its_worker_lives(
    plan: Plan, tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]], assert_gone: Callable[[], float]
) -> None:
    controller = spawn("-c", CONTROLLER, str(tmp_path), *plan("--children").command, USER_CODE=USER)
    assert url_of(controller).startswith("http://127.0.0.1:")
    workers = children_of(controller.pid)
    assert len(workers) == 1
    kill(controller)
    try:
        assert_gone()
        assert read_status(workers[0]) is not None, "the worker ended by itself, so its life was not put to the test"
    finally:
        os.kill(workers[0], signal.SIGKILL)


def test_a_controller_that_is_killed_during_the_start_takes_the_server_along_though_its_worker_waits_on(
    plan: Plan, tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]], listed: Path,
    assert_gone: Callable[[], float],
) -> None:  # fmt: skip
    """The worker holds the lock for as long as it waits: nobody joins, and the supervisor must not wait for it."""
    controller = spawn("-c", CONTROLLER, str(tmp_path), *plan("--deaf", "--children").command, USER_CODE=USER)
    deadline = time.monotonic() + 20
    while not listed.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = children_of(controller.pid)
    kill(controller)
    try:
        assert_gone()
    finally:
        os.kill(workers[0], signal.SIGKILL)


def test_who_started_a_server_that_others_still_need_ends_without_a_warning(
    plan: Plan, tmp_path: Path, spawn: Callable[..., subprocess.Popen[str]], assert_gone: Callable[[], float]
) -> None:
    """Its child, the supervisor, outlives it on purpose: nothing that Python tells of forgotten processes."""
    arguments = (str(tmp_path), *plan().command)
    starter = subprocess.Popen(  # noqa: S603
        [sys.executable, "-W", "always", "-c", LEAVING, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert starter.stdout is not None
    assert starter.stdout.readline().startswith("http://127.0.0.1:")
    other = spawn("-c", USER, *arguments)
    url = url_of(other)
    _, complaints = starter.communicate(timeout=30)
    assert (starter.returncode, complaints) == (0, "")
    with urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310
        assert answer.status == 200
    kill(other)
    assert_gone()


def test_a_supervisor_that_ended_is_no_zombie_of_its_starter(plan: Plan, tmp_path: Path) -> None:
    with share(plan(), tmp_path) as server:
        assert read_status(server.supervisor.number) is not None
    assert read_status(server.supervisor.number) is None


@pytest.mark.parametrize("victim", ["worker", "controller"])
def test_a_real_run_with_two_workers_leaves_nothing(
    plan: Plan,
    tmp_path: Path,
    spawn: Callable[..., subprocess.Popen[str]],
    living: Callable[[], list[int]],
    assert_gone: Callable[[], float],
    victim: str,
) -> None:
    (tmp_path / "test_them.py").write_text(TESTS, encoding="utf-8")
    options = ("-q", "-n2", "--max-worker-restart=0", "-pno:cacheprovider", f"--rootdir={tmp_path}")
    run = spawn(
        *("-m", "pytest", *options, "-c", os.devnull, str(tmp_path / "test_them.py")),
        SHARED=str(tmp_path),
        COMMAND=repr(plan("--children").command),
    )
    workers = await_users(tmp_path, 2)
    assert len({path.read_text() for path in tmp_path.glob("user-*")}) == 1
    assert len(living()) == 3
    for number in [run.pid] if victim == "controller" else workers:
        os.kill(number, signal.SIGKILL)
    assert_gone()


def await_users(folder: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 60
    while len(found := list(folder.glob("user-*"))) < count:
        assert time.monotonic() < deadline, "the workers never got their server"
        time.sleep(0.1)
    return [int(path.name.removeprefix("user-")) for path in found]


def children_of(number: int) -> list[int]:
    return [int(part) for part in Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii").split()]


def test_a_killed_supervisor_takes_the_servers_first_process_along(
    plan: Plan, tmp_path: Path, assert_gone: Callable[[], float]
) -> None:
    server = share(plan(), tmp_path)
    os.kill(server.supervisor.number, signal.SIGKILL)
    assert_gone()
    assert not server.alive()
    server.stop()


def test_a_number_that_is_used_again_is_another_process(
    plan: Plan, tmp_path: Path, assert_gone: Callable[[], float]
) -> None:
    server = share(plan(), tmp_path)
    number, began = json.loads(server.owner.read_text(encoding="utf-8"))[0]
    server.owner.write_text(json.dumps([[number, began - 1]]), encoding="utf-8")
    assert_gone()
    server.stop()
