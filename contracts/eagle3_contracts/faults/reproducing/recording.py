"""The two sides of a fault as files: what is written to disk, or what code gave when it was called."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.making.artifacts import write_artifact

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Sides:
    """What should be and what is: files by name."""

    sound: Files
    faulty: Files


def record_sides(fault: Fault) -> Sides:
    """Record both sides; the contract's document joins them where the fault needs another one."""
    from eagle3_contracts.faults.reproducing import called, served

    recorders: dict[str, Callable[..., Files]] = {
        "capture": called.record_capture,
        "loader": called.record_loader,
        "server": served.record_server,
    }
    sides: list[Files] = []
    documents: list[Contract] = []
    for sound in (True, False):
        with tempfile.TemporaryDirectory(prefix="eagle3-contracts-") as scratch:
            folder = Path(scratch)
            documents.append(write_artifact(fault, folder, sound=sound).contract)
            recorder = recorders.get(fault.stage)
            sides.append(recorder(fault, sound=sound) if recorder else _read_files(folder))
    if documents[0].digest != documents[1].digest:
        for files, contract in zip(sides, documents, strict=True):
            files["contract.json"] = dump_json(contract.model_dump(mode="json", by_alias=True, exclude_none=True))
    return Sides(*sides)


def dump_json(value: object) -> bytes:
    """Write JSON as a recording holds it."""
    return json.dumps(value, separators=(",", ":")).encode()


def _read_files(folder: Path) -> Files:
    """Read what was written, but for the target, which is the same on both sides."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith("target/")}
