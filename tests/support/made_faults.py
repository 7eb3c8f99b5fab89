"""A fault written to disk and checked by the command that comes with it, once for all tests of a run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import runpy
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

from eagle3_contracts.cli import main
from eagle3_contracts.faults.injecting.servers import serve
from eagle3_contracts.faults.making import MadeFault, make_fault
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.reports.json_report import decode_finding
from eagle3_contracts.subjects.servers import gathering
from eagle3_contracts.subjects.servers.transport import Limits

SHORT = Limits(connect=2, read=1.0, total=2.0, size=8 << 20)
"""For servers that never end an answer: the command itself waits for minutes."""

_shared: list[Path] = []


@dataclass(frozen=True)
class Checked:
    """What the command said of a fault that was made: its exit code and every finding."""

    made: MadeFault
    code: int
    findings: tuple[Finding, ...]

    def failed(self) -> set[str]:
        return {item.clause for item in self.findings if item.verdict is Verdict.FAILED}

    def of_clause(self) -> Finding:
        """Give the first violation of the clause that must catch the fault."""
        clause, failed = self.made.fault.clause, Verdict.FAILED
        return next(item for item in self.findings if item.clause == clause and item.verdict is failed)


def share_checks(folder: Path) -> None:
    """Keep what is checked in a folder of this run, for its other processes (pytest-xdist) to read."""
    _shared.append(folder)


@cache
def check_made(name: str, *, sound: bool = False) -> Checked:
    """Write a fault into a folder of its own, run its command there, and remove it."""
    kept = _shared[-1] / f"{name}-{'sound' if sound else 'faulty'}.pickle" if _shared else None
    if kept is not None and kept.exists():
        read: Checked = pickle.loads(kept.read_bytes())  # noqa: S301 (written below, in this run)
        return read
    checked = _check(name, sound=sound)
    if kept is not None:
        written = kept.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(checked))
        written.replace(kept)
    return checked


def _check(name: str, *, sound: bool) -> Checked:
    scratch = Path(tempfile.mkdtemp(prefix="eagle3-contracts-test-"))
    try:
        made = make_fault(name, scratch / "fault", sound=sound)
        with contextlib.chdir(made.folder):
            return _run(made)
    finally:
        shutil.rmtree(scratch)


def _run(made: MadeFault) -> Checked:
    arguments = [*made.command[1:], "--json"]
    out = io.StringIO()
    with contextlib.ExitStack() as stack:
        if made.first:
            url = stack.enter_context(serve(runpy.run_path("serve.py")["stand_in"]()))
            arguments = [item.replace("http://127.0.0.1:30000", url) for item in arguments]
            stack.enter_context(_impatient(made))
        stack.enter_context(contextlib.redirect_stdout(out))
        code = main(arguments)
    report = json.loads(out.getvalue())
    return Checked(made, code, tuple(decode_finding(item) for item in report["findings"]))


@contextlib.contextmanager
def _impatient(made: MadeFault) -> Iterator[None]:
    from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS

    if made.fault.id not in CONNECTION_FAULTS or made.sound:
        yield
        return
    with patch.object(gathering, "Limits", lambda: SHORT):
        yield
