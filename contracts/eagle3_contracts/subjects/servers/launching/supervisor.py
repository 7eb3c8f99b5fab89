"""The supervisor: starts one server in a process group of its own, and ends it when nobody needs it any more.

Run as ``python -I supervisor.py FOLDER``, in a session of its own; ``running.py`` writes the folder:

- ``order.json``: the command, and how much memory and log it may fill. The environment is the supervisor's own.
- ``owners/``: one file for each process that needs the server, with the processes that must all live for it to count.
- ``lock``: held by whoever joins or leaves. Here it is taken before the last look, so that nobody joins a dying server.
- ``server.log`` (written here): what the server prints, the middle left out where it grows too long.
- ``end.json`` (written here, by rename): that the server ended, with its status and the reason.

It depends on nothing that a killed test could have done first: it looks for living owners, and asks for no farewell.
If it is killed itself, the server's first process is killed by the kernel, and SGLang's others watch that one.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).resolve().parent))

from processes import Process, belonging, lives  # type: ignore[import-not-found]

LOOK = 0.25
"""Seconds between two looks at the server and at its owners."""

PATIENCE = 2.0
"""Seconds for which a lock is respected whose holder is no living owner: its controller died while it started."""

GRACE = 3.0
"""Seconds between the request to end and the kill."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Log:
    """The server's output in a file that stays small: what came first, and what came last."""

    def __init__(self, path: Path, stream: IO[bytes], limit: int) -> None:
        self._path, self._stream, self._limit = path, stream, limit
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with self._path.open("w+b", buffering=0) as file:
            for line in self._stream:
                file.write(line)
                if file.tell() > self._limit:
                    self._shorten(file)

    def _shorten(self, file: IO[bytes]) -> None:
        size, part = file.tell(), self._limit // 4
        file.seek(0)
        first = file.read(part)
        file.seek(size - 2 * part)
        last = file.read()
        file.seek(0)
        file.write(first + b"\n[... %d bytes left out ...]\n" % (size - len(first) - len(last)) + last)
        file.truncate()

    def finish(self) -> None:
        """Wait until all is written; a process that still holds the pipe is not waited for."""
        self._thread.join(timeout=2)


class Supervisor:
    """One server, from its start to the end of its last process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
        self._memory_limit: int | None = order["memory_limit"]
        self._blocked: float | None = None
        self._server = subprocess.Popen(  # noqa: S603
            order["command"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 (no thread runs yet)
        )
        assert self._server.stdout is not None  # noqa: S101 (for the type checker)
        self._log = Log(folder / "server.log", self._server.stdout, order["log_limit"])

    def watch(self) -> None:
        """Look until there is a reason to end, then end."""
        reason = ""
        while not reason:
            time.sleep(LOOK)
            reason = self._reason()
        self.end(reason)

    def _reason(self) -> str:
        if self._server.poll() is not None:
            return "the server ended by itself"
        if self._memory_limit is not None:
            held = sum(status.resident for status in belonging(self._server.pid, os.getpid()))
            if held > self._memory_limit:
                gib = 1 << 30
                return f"the server held {held / gib:.1f} GiB, more than the limit of {self._memory_limit / gib:.1f}"
        if self._owned():
            self._blocked = None
            return ""
        return "nobody needed the server any more" if self._leave() else ""

    def _owned(self) -> bool:
        """Tell whether one owner lives with all that it depends on; forget those that do not."""
        owned = False
        for file in (self._folder / "owners").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                listed = json.loads(file.read_text(encoding="utf-8"))
                if all(lives(Process(*item)) for item in listed):
                    owned = True
                else:
                    file.unlink(missing_ok=True)
        return owned

    def _leave(self) -> bool:
        """Under the lock, so that nobody is joining: look once more, and take the server off the list.

        Who joins becomes an owner at once. A lock that is held for longer while no owner lives is that of a worker
        which waits for the server to answer and whose controller is gone.
        """
        with (self._folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._blocked = self._blocked or time.monotonic()
                if time.monotonic() - self._blocked < PATIENCE:
                    return False
            if self._owned():
                return False
            (self._folder / "server.json").unlink(missing_ok=True)
            return True

    def end(self, reason: str) -> None:
        """End every process of the server, say why, and end."""
        status = self._server.poll()
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while self._left() and time.monotonic() < deadline:
            time.sleep(0.05)
        while self._left():
            self._signal(signal.SIGKILL)
            time.sleep(0.05)
        self._log.finish()
        written = self._folder / "end.json.part"
        written.write_text(json.dumps({"status": status, "reason": reason}), encoding="utf-8")
        written.rename(self._folder / "end.json")

    def _left(self) -> bool:
        """Take note of who has ended, then tell whether anybody is left."""
        self._server.poll()
        with contextlib.suppress(ChildProcessError):
            while self._server.returncode is not None and os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return any(True for _ in belonging(self._server.pid, os.getpid()))

    def _signal(self, number: signal.Signals) -> None:
        for status in belonging(self._server.pid, os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(status.process.number, number)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(folder: Path) -> None:
    """Supervise the server that ``folder`` orders."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
    supervisor = Supervisor(folder)

    def end(*_: object) -> None:
        supervisor.end("the supervisor was told to end")
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor.watch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
