"""Start a server and keep it for as long as it is needed, by one process or by all workers of a run.

A folder holds what they share: see ``supervisor.py``. Linux only, as SGLang is.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.servers.launching.plans import PORT, LaunchPlan
from eagle3_contracts.subjects.servers.launching.processes import Process, identify, lives, reap

LOOK = 0.2
END_LIMIT = 15.0
"""Seconds that ending may take: SIGTERM, three seconds of grace, SIGKILL, and a busy machine."""

LOG_LIMIT = 8 << 20
"""Bytes that the log may grow to; its first quarter and its newest lines stay."""

TAIL = 30
"""Lines of the log in a message."""

PORT_TAKEN = ("address already in use", "port is already", "is not available")
ATTEMPTS = 3


class NotStartedError(SubjectError):
    """A launched server that never answered: its command, how it ended, and the end of its log."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers at ``url`` until ``stop``, or until the processes that need it are gone.

    ``log``: its output, size-limited. ``stand_ins``: what in it is not the engine's own, to be told with every result.
    """

    plan: LaunchPlan
    url: str
    folder: Path
    supervisor: Process
    owner: Path
    temporary: bool = field(default=False)

    @property
    def log(self) -> Path:
        """The file with what the server prints."""
        return self.folder / "server.log"

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """What in the server is not the engine's own."""
        return self.plan.stand_ins

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report must say of a server that was launched here."""
        told = (f"a stand-in serves for {item}; speed means nothing here" for item in self.stand_ins)
        return (f"launched on {self.plan.device}: {self.plan}", *told)

    def alive(self) -> bool:
        """Tell whether the server still runs."""
        return lives(self.supervisor) and not (self.folder / "end.json").exists()

    def tail(self, lines: int = TAIL) -> str:
        """Give the end of the log."""
        return read_tail(self.log, lines)

    def stop(self) -> None:
        """Need the server no more. It ends with its last owner, and this returns when it has, if this was the last."""
        self.owner.unlink(missing_ok=True)
        deadline = time.monotonic() + END_LIMIT
        while not any((self.folder / "owners").glob("*.json")) and lives(self.supervisor):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the supervisor {self.supervisor.number} of {self.plan} did not end")
            time.sleep(LOOK / 4)
        reap(self.supervisor)
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(plan: LaunchPlan) -> RunningServer:
    """Start a server for this process alone, in a temporary folder that ``stop`` removes.

    Raises ``NotStartedError`` if it ends, or does not answer in time.
    """
    folder = Path(tempfile.mkdtemp(prefix="eagle3-contracts-server-"))
    try:
        return _join(plan, folder, temporary=True)
    except NotStartedError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def share(plan: LaunchPlan, folder: Path) -> RunningServer:
    """Start a server once for all processes that name the same folder, such as the workers of a test run.

    Whoever comes first starts it, under a lock on which the others wait. A start that failed is not tried again: the
    others get the same error. Each must call ``stop``; who is killed need not. A worker of pytest-xdist counts as
    alive while its controller is.
    """
    own = folder / f"server-{plan.key}"
    own.mkdir(parents=True, exist_ok=True)
    return _join(plan, own, temporary=False)


def _join(plan: LaunchPlan, folder: Path, *, temporary: bool) -> RunningServer:
    (folder / "owners").mkdir(exist_ok=True)
    owner = folder / "owners" / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.json"
    with _locked(folder):
        failed = _read(folder / "failed.json")
        if failed:
            raise NotStartedError(str(plan), failed["reason"], remedy=failed["remedy"])
        _write(owner, [[item.number, item.began] for item in _needed_alive()])
        try:
            url, supervisor = _find(folder) or _start(plan, folder)
        except NotStartedError as error:
            _write(folder / "failed.json", {"reason": error.reason, "remedy": error.remedy})
            owner.unlink(missing_ok=True)
            raise
        except BaseException:
            owner.unlink(missing_ok=True)
            raise
    return RunningServer(plan, url, folder, supervisor, owner, temporary)


def _needed_alive() -> tuple[Process, ...]:
    """Give this process, and the controller of an xdist worker: without it nobody would end the worker."""
    numbers = [os.getpid(), *([os.getppid()] if "PYTEST_XDIST_WORKER" in os.environ else [])]
    return tuple(identify(number) for number in numbers)


def _find(folder: Path) -> tuple[str, Process] | None:
    known = _read(folder / "server.json")
    if not known or (folder / "end.json").exists():
        return None
    supervisor = Process(*known["supervisor"])
    return (known["url"], supervisor) if lives(supervisor) else None


def _start(plan: LaunchPlan, folder: Path) -> tuple[str, Process]:
    for attempt in range(1, ATTEMPTS + 1):
        for left in ("end.json", "server.json"):
            (folder / left).unlink(missing_ok=True)
        port = _free_port()
        supervisor = _supervise(plan, folder, port)
        url = f"http://127.0.0.1:{port}"
        _write(folder / "server.json", {"url": url, "supervisor": [supervisor.number, supervisor.began]})
        reason = _wait(plan, folder, port, supervisor)
        if not reason:
            return url, supervisor
        _await_end(supervisor)
        log = read_tail(folder / "server.log", TAIL)
        if attempt == ATTEMPTS or not any(words in log.lower() for words in PORT_TAKEN):
            break
    told = f"{reason}\n--- the last {TAIL} lines of its log ---\n{log}\n---"
    raise NotStartedError(str(plan), told, remedy="run the command by hand (with a port); mend what its log names")


def _supervise(plan: LaunchPlan, folder: Path, port: int) -> Process:
    """Start the supervisor, which may outlive this process: ``subprocess.Popen`` would warn of that at the end."""
    command = [str(port) if word == PORT else word for word in plan.command]
    order = {"command": command, "memory_limit": plan.memory_limit, "log_limit": LOG_LIMIT}
    _write(folder / "order.json", order)
    program = Path(__file__).with_name("supervisor.py")
    words = [sys.executable, "-I", str(program), str(folder)]
    with (folder / "supervisor.log").open("wb") as errors, Path(os.devnull).open("r+b") as nothing:
        places = (nothing.fileno(), nothing.fileno(), errors.fileno())
        opened = [(os.POSIX_SPAWN_DUP2, source, place) for place, source in enumerate(places)]
        variables = {**os.environ, **plan.environment}
        number = os.posix_spawn(sys.executable, words, variables, file_actions=opened, setsid=True)
    return identify(number)


def _wait(plan: LaunchPlan, folder: Path, port: int, supervisor: Process) -> str:
    """Wait until the server answers; give the reason why it never will, else nothing."""
    deadline = time.monotonic() + plan.start_limit
    while time.monotonic() < deadline:
        end = _read(folder / "end.json")
        if end:
            return f"{end['reason']} before it answered, with exit status {end['status']}"
        if not lives(supervisor):
            return f"its supervisor ended: {read_tail(folder / 'supervisor.log', TAIL) or 'killed'}"
        if _healthy(port):
            return ""
        time.sleep(LOOK)
    with contextlib.suppress(ProcessLookupError):
        os.kill(supervisor.number, 15)
    return f"it did not answer within {plan.start_limit:g} s"


def _await_end(supervisor: Process) -> None:
    deadline = time.monotonic() + END_LIMIT
    while lives(supervisor) and time.monotonic() < deadline:
        time.sleep(LOOK)
    reap(supervisor)


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    import fcntl

    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_tail(file: Path, lines: int) -> str:
    """Give the last lines of a file, from its last 64 KiB; empty if there is none."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - (64 << 10)))
            return "\n".join(stream.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, content: object) -> None:
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.rename(file)
