"""Processes as Linux tells of them: who lives, who belongs together, how much memory they hold.

Standard library only and without any import of the package, since the supervisor runs this file's neighbour alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process by number and by the moment it began, so that a number used again is another process."""

    number: int
    began: int


@dataclass(frozen=True, slots=True)
class Status:
    """One line of ``/proc/NUMBER/stat``; a zombie has ended, and only its parent has not looked."""

    process: Process
    parent: int
    group: int
    ended: bool
    resident: int


def read_status(number: int) -> Status | None:
    """Read what the system says of a process; None if there is none."""
    try:
        text = (PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return Status(Process(number, int(fields[19])), int(fields[1]), int(fields[2]), fields[0] in "ZX", resident)


def identify(number: int) -> Process:
    """Give a living process its identity; ``ProcessLookupError`` if there is none."""
    status = read_status(number)
    if status is None:
        raise ProcessLookupError(number)
    return status.process


def lives(process: Process) -> bool:
    """Tell whether exactly this process still runs."""
    status = read_status(process.number)
    return status is not None and not status.ended and status.process == process


def reap(process: Process) -> None:
    """Take note that a child of this process has ended, so that no zombie stays; leave any other process alone."""
    status = read_status(process.number)
    if status is not None and status.process == process:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.number, os.WNOHANG)


def belonging(group: int, ancestor: int) -> Iterator[Status]:
    """Give the living processes of a group, and the children of ``ancestor``, which inherits whoever is orphaned."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            status = read_status(int(entry.name))
            if status is not None and not status.ended and (status.group == group or status.parent == ancestor):
                yield status
