"""Which files make a checkpoint: config.json, and weights in one file or in shards that an index names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.datasets.stored import FoundFile
from eagle3_contracts.subjects.datasets.walking import printable
from eagle3_contracts.subjects.targets.agreement import read_config

CONFIG = "config.json"
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
SINGLES = ("model.safetensors", "pytorch_model.bin")
INDEX_CAP = 64 << 20
_AGAIN = "export the checkpoint again"


@dataclass(slots=True)
class Folder:
    """What was found. ``config``: empty if it could not be read, and ``problems`` then says why.

    ``indexed``: tensor to shard, where an index says so.
    """

    root: Path
    config: dict[str, Any] = field(default_factory=dict)
    files: list[FoundFile] = field(default_factory=list)
    indexed: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def open_folder(path: Path) -> Folder:
    """List a checkpoint's files; nothing but config.json and an index is opened. ``SubjectError`` if there is none."""
    if not path.exists():
        raise SubjectError(str(path), "does not exist", remedy="give the folder that the trainer exported")
    root = path if path.is_dir() else path.parent
    found = Folder(root)
    try:
        found.config = read_config(root / CONFIG)
    except SubjectError as error:
        found.problems.append(Problem("config", f"{CONFIG} {error.reason}", _AGAIN, Where(file=CONFIG)))
    names = [path.name] if not path.is_dir() else list(_name_weights(found))
    for name in dict.fromkeys(names):
        _add_file(found, name)
    if not found.files and not found.problems:
        reason = "holds no weights: neither .safetensors nor .bin files"
        found.problems.append(Problem("missing", reason, _AGAIN, Where(file=str(root.name))))
    return found


def _name_weights(found: Folder) -> Iterator[str]:
    """Name the files with weights: those of an index, else the single file, else every file of the first kind."""
    for name in INDEXES:
        if (found.root / name).is_file():
            yield from _read_index(found, name)
            return
    for name in SINGLES:
        if (found.root / name).is_file():
            yield name
            return
    for pattern in ("*.safetensors", "*.bin"):
        names = sorted(path.name for path in found.root.glob(pattern))
        if names:
            yield from names
            return


def _read_index(found: Folder, name: str) -> Iterator[str]:
    path = found.root / name
    try:
        if path.stat().st_size > INDEX_CAP:
            raise ValueError(f"larger than {INDEX_CAP} bytes")  # noqa: TRY301 (told like any other defect below)
        weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        shards = sorted(set(weight_map.values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"is no index of shards: {type(error).__name__}: {printable(str(error)[:100])}"
        found.problems.append(Problem("corrupt", reason, _AGAIN, Where(file=name)))
        return
    if not shards:
        reason = "names no shard, and readers that follow it load nothing, whatever lies beside it"
        found.problems.append(Problem("corrupt", reason, "write it again, or take it out", Where(file=name)))
    found.indexed = {str(tensor): str(shard) for tensor, shard in weight_map.items()}
    for shard in shards:
        if not isinstance(shard, str) or Path(shard).name != shard:
            reason = f"names a shard outside its folder: {printable(str(shard)[:100])!r}"
            found.problems.append(Problem("unsafe", reason, "name shards by their file name alone", Where(file=name)))
        else:
            yield shard


def _add_file(found: Folder, name: str) -> None:
    path = found.root / name
    try:
        size = path.stat().st_size
    except OSError as error:
        reason = f"is named by the index and cannot be read: {error.strerror}"
        found.problems.append(Problem("missing", reason, "copy every shard", Where(file=printable(name))))
        return
    found.files.append(FoundFile(path, printable(name), path.suffix, size))
