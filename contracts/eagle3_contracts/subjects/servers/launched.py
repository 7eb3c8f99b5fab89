"""A server launched for the subjects ``launch``, ``launch:capture`` and ``launch:plain``.

Outside pytest-xdist it lives while it is examined. The workers of one run share it: the first starts it, and it ends
with the last of them, or once each examines another server: two do not fit onto a device side by side.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.goldens import Golden
from eagle3_contracts.subjects.servers.launching import (
    LaunchPlan,
    NotStartedError,
    RunningServer,
    plan_launch,
    share,
    start,
)

_RUN = "PYTEST_XDIST_TESTRUNUID"
"""Set by pytest-xdist in every worker, the same in all workers of a run."""

_NOTICE = 4.0
"""Seconds within which a busy machine's supervisor has seen that its server ended."""

_LOG = "read the server's log above; its last lines name the cause"


@contextmanager
def hold_server(
    contract: Contract, role: ServerRole, options: Options, golden: Golden | None
) -> Iterator[RunningServer | Problem]:
    """Start a server of the contract's target, or join the one of this run; a problem if it did not start.

    The target and drafter are those of ``options``, else the recorded ones. Raises ``SubjectError`` where there is
    nothing to serve, or nothing to serve it with.
    """
    target = options.target or (str(golden.target) if golden is not None else None)
    if target is None or not Path(target).is_dir():
        remedy = "give --contract-target the folder with the target's config.json and weights, or a server's URL"
        raise SubjectError("launch", "no folder with the target is at hand", remedy=remedy)
    drafter = Path(options.drafter) if options.drafter else golden.drafter if golden is not None else None
    plan = plan_launch(contract, Path(target), drafter if role == "eagle3" else None, role)
    try:
        server, kept = _open(plan)
    except NotStartedError as error:
        yield Problem("exited", f"{error.source}: {error.reason}", error.remedy)
        return
    try:
        yield server
    finally:
        if not kept:
            server.stop()


def has_ended(server: RunningServer, *, in_doubt: bool) -> bool:
    """Tell whether a server is gone; ``in_doubt``: give the supervisor, which looks now and then, time to notice."""
    deadline = time.monotonic() + (_NOTICE if in_doubt else 0.0)
    while server.alive():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_NOTICE / 40)
    return True


def tell_end(server: RunningServer) -> Problem:
    """Say that a server ended while it was asked, with the end of its log."""
    reason = f"the server ended while it was asked: {server.plan}\n--- its log ends ---\n{server.tail()}\n---"
    return Problem("exited", reason, _LOG)


def _open(plan: LaunchPlan) -> tuple[RunningServer, bool]:
    """Give a server, and whether it is kept until this process ends."""
    run = os.environ.get(_RUN)
    if run is None or not run.isalnum():
        return start(plan), False
    folder = Path(tempfile.gettempdir()) / f"eagle3-contracts-{run}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if any(server.plan.key != plan.key for server in _KEPT):
        _let_go()
    server = share(plan, folder)
    _KEPT.append(server)
    return server, True


_KEPT: list[RunningServer] = []
"""What this worker holds for as long as it examines no other server, or lives."""


@atexit.register
def _let_go() -> None:
    while _KEPT:
        _KEPT.pop().stop()
