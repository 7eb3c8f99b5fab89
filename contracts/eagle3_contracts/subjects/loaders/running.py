"""One run of a loader over one dataset, in a folder of its own: what came, what it raised, and what it said."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from eagle3_contracts.evidence import LoadedRows, LoaderRun, Problem, Scenario
from eagle3_contracts.subjects.captures.returned import MisfitError
from eagle3_contracts.subjects.loaders.protocol import Loader, StepZero, Write
from eagle3_contracts.subjects.loaders.returned import join_rows, read_batch
from eagle3_contracts.subjects.loaders.scenarios import Layout, write_scenario
from eagle3_contracts.subjects.named_code import last_line, restored_process

MOST_BATCHES = 64
"""Batches after which a loader that does not end by itself is stopped; the datasets hold a handful of samples."""

_SHOWN = 160


def run_scenario(scenario: Scenario, loader: Loader, write: Write, layout: Layout) -> LoaderRun:
    """Write one dataset, and read it once."""
    with tempfile.TemporaryDirectory(prefix="eagle3-contracts-") as scratch:
        folder = Path(scratch) / "dataset"
        folder.mkdir()
        samples = write_scenario(scenario, folder, write, layout, loader.max_length)
        before = _digest(folder)
        epoch = _Epoch(loader, folder, layout.hidden)
        with restored_process(), _listening() as said:
            epoch.read()
        after = _digest(folder)
    said = [line.replace(str(folder), "DATASET") for line in said]
    dropped = f"{epoch.left_out} sample{'s' if epoch.left_out > 1 else ''}"
    counted = (f"the loader counts {dropped} as left out",) if epoch.left_out else ()
    rows = epoch.rows()
    return LoaderRun(
        samples=samples,
        rows=rows,
        refusal=epoch.refusal.replace(str(folder), "DATASET"),
        misfit=epoch.misfit,
        reports=tuple(dict.fromkeys((*counted, *said))),
        changed=tuple(sorted(name for name, digest in before.items() if after.get(name) != digest)),
        added=tuple(sorted(after.keys() - before.keys())),
        stopped=epoch.stopped,
    )


@dataclass(slots=True)
class _Epoch:
    """One epoch of a loader, as far as it went; every batch is read before the next one is asked for."""

    loader: Loader
    folder: Path
    hidden: int
    parts: list[LoadedRows] = field(default_factory=list)
    taken: int = 0
    left_out: int = 0
    refusal: str = ""
    misfit: Problem | None = None
    stopped: bool = False

    def read(self) -> None:
        """Take batches until the loader ends, raises, or has given more than the dataset can hold."""
        try:
            for batch in self.loader.read(self.folder):
                self._take(batch)
                if self.misfit or self.stopped:
                    return
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code under test may raise anything
            self.refusal = last_line(error)

    def _take(self, batch: StepZero) -> None:
        if not hasattr(batch, "fc_input") or not hasattr(batch, "tokens"):
            reason = f"the loader gave a {type(batch).__name__}, no StepZero"
            self.misfit = Problem("unsupported", reason, "give eagle3_contracts.StepZero(fc_input, tokens, ...)")
            return
        if isinstance(batch.left_out, bool) or not isinstance(batch.left_out, int) or batch.left_out < 0:
            reason = f"left_out is {str(batch.left_out)[:40]!r}, no number of samples"
            self.misfit = Problem("unsupported", reason, "count the samples left out of this batch: 0, 1, 2 ...")
            return
        documents = max((int(part.documents.max(initial=-1)) + 1 for part in self.parts), default=0)
        try:
            rows = read_batch(batch, self.hidden, self.taken, documents)
        except MisfitError as error:
            self.misfit = Problem("unsupported", error.reason, error.remedy)
            return
        self.parts += [rows] if len(rows) else []
        self.taken += 1
        self.left_out += batch.left_out
        self.stopped = self.taken >= MOST_BATCHES

    def rows(self) -> LoadedRows | None:
        """Give all rows; None if there is none, or batches do not go together."""
        try:
            return join_rows(self.parts) if self.parts and self.misfit is None else None
        except MisfitError as error:
            self.misfit = Problem("unsupported", error.reason, error.remedy)
            return None


class _Printed(io.StringIO):
    """What was printed; it stays readable if the code under test closes its standard output."""

    def close(self) -> None:
        """Stay open."""


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """Collect warnings, log records from WARNING up, and printed lines: all that a user might see."""
    said: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                said.append(f"log: {record.getMessage()[:_SHOWN]}")
            except (TypeError, ValueError):  # arguments that do not fit: logging itself goes on as well
                said.append(f"log: {str(record.msg)[:_SHOWN]}")

    handler, root, printed = Handler(logging.WARNING), logging.getLogger(), _Printed()
    root.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            yield said
    finally:
        root.removeHandler(handler)
    said += [f"{item.category.__name__}: {' '.join(str(item.message).split())[:_SHOWN]}" for item in caught]
    said += [f"printed: {line.strip()[:_SHOWN]}" for line in printed.getvalue().splitlines() if line.strip()]


def _digest(folder: Path) -> dict[str, str]:
    """Give the sha256 of every file below a folder, by its name from there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
