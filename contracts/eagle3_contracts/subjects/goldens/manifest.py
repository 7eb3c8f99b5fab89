"""A recording's manifest, read as untrusted text: what it must say, and what is wrong where it does not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from platform import python_version
from typing import Any

import numpy as np

from eagle3_contracts.contract.stamp import digest_ids
from eagle3_contracts.evidence import Problem, RecordedFile, RecordedSequence
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.walking import printable

MANIFEST = "manifest.json"
SCHEMA = 1
MANIFEST_CAP = 64 << 20
"""Bytes; a token id takes about six."""

MOST_FILES = 100_000
"""Files of a folder that are counted; a recording has some tens."""

_PLACE = Where(file=MANIFEST)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest says, checked for its types. ``table``: the whole of it."""

    table: Mapping[str, Any]
    files: Mapping[str, tuple[str, int]]
    sequences: tuple[RecordedSequence, ...]

    def text(self, key: str) -> str:
        """Give a text, "" where it says none."""
        value = self.table.get(key)
        return value if isinstance(value, str) else ""

    @property
    def versions(self) -> dict[str, str]:
        """Give the versions of the tools that recorded it."""
        table = self.table.get("versions")
        return {str(name): str(said) for name, said in table.items()} if isinstance(table, Mapping) else {}

    @property
    def outside(self) -> tuple[str, ...]:
        """List files that do not lie in the recording's folder."""
        return tuple(name for name in self.files if not _lies_inside(name))


def read_manifest(folder: Path, remedy: str) -> Manifest | Problem:
    """Read it; a problem (missing, corrupt) if there is no recording, or the manifest is none."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MANIFEST_CAP:
            return Problem("corrupt", f"{MANIFEST} is larger than {MANIFEST_CAP} bytes", remedy, _PLACE)
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"there is no recording in {folder}: {MANIFEST} cannot be read ({error.strerror})"
        return Problem("missing", reason, remedy, _PLACE)
    except (ValueError, RecursionError) as error:
        return Problem("corrupt", f"{MANIFEST} is no JSON: {error}", remedy, _PLACE)
    defects = list(_find_defects(table))
    if defects:
        return Problem("corrupt", f"{MANIFEST} is none of a recording: {'; '.join(defects)}", remedy, _PLACE)
    files = {name: (entry["sha256"], entry["bytes"]) for name, entry in table["files"].items()}
    return Manifest(table, files, tuple(_read_sequences(table["sequences"])))


def list_files(folder: Path, manifest: Manifest, digest: Any) -> tuple[RecordedFile, ...]:
    """List every file that the manifest names or that lies in the folder; ``digest(path)`` gives its sha256.

    Links to folders are not followed, and a name that leads out of the folder is not opened.
    """
    found = {name: folder / name for name in manifest.files if _lies_inside(name) and (folder / name).is_file()}
    for name in _walk(folder):
        found.setdefault(name, folder / name)
    found.pop(MANIFEST, None)
    return tuple(
        RecordedFile(
            printable(name),
            manifest.files.get(name),
            (digest(found[name]) if name in manifest.files else "", found[name].stat().st_size)
            if name in found
            else None,
        )
        for name in sorted({*manifest.files, *found})
    )


def installed_versions(names: Sequence[str]) -> dict[str, str | None]:
    """Give the versions of the named tools here, None for one that is not installed."""
    return {name: _installed(name) for name in names}


def _installed(name: str) -> str | None:
    if name == "python":
        return python_version()
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _walk(folder: Path) -> Iterator[str]:
    count = 0
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in names:
            path = Path(base, name)
            if path.is_file():
                yield path.relative_to(folder).as_posix()
            count += 1
            if count >= MOST_FILES:
                return


def _lies_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith(("/", "\\")) and ".." not in parts and "\0" not in name


def _find_defects(table: Any) -> Iterator[str]:
    if not isinstance(table, dict):
        yield "it is no table"
        return
    missing = [name for name in ("schema", "contract", "files", "sequences") if name not in table]
    if missing:
        yield f"it has no {', '.join(missing)}"
        return
    if table["schema"] != SCHEMA:
        yield f"it is of schema {str(table['schema'])[:20]!r}, this version reads {SCHEMA}"
    if not isinstance(table["contract"], str):
        yield "contract is no text"
    files, sequences = table["files"], table["sequences"]
    if not isinstance(files, dict) or not all(map(_is_file, files.values())):
        yield "files is no table of sha256 and bytes"
    if not isinstance(sequences, list) or not all(map(_is_sequence, sequences)):
        yield "sequences is no list of tables with token_ids, length and dtype"


def _is_file(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("sha256"), str) and type(entry.get("bytes")) is int


def _is_sequence(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str) or type(entry.get("length")) is not int:
        return False
    ids = entry.get("token_ids")
    return isinstance(ids, list) and all(type(item) is int and abs(item) < 1 << 62 for item in ids)


def _read_sequences(entries: Sequence[Mapping[str, Any]]) -> Iterator[RecordedSequence]:
    for number, entry in enumerate(entries):
        ids = tuple(entry["token_ids"])
        yield RecordedSequence(
            number=number,
            token_ids=ids,
            length=entry["length"],
            kind=str(entry.get("kind", "")),
            dtype=entry["dtype"],
            digest=str(entry.get("digest", "")),
            actual_digest=digest_sequence(ids),
        )


def digest_sequence(token_ids: Sequence[int]) -> str:
    """Give the digest of a sequence's token ids, the one that stamps and dataset records use."""
    return digest_ids(np.asarray(token_ids, np.int64).tobytes())
