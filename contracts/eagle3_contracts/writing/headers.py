"""A safetensors file with other metadata: the header is written again, every tensor's bytes are copied as they are."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, BinaryIO

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.datasets.safetensors_files import read_header
from eagle3_contracts.subjects.datasets.stored import FoundFile, UnreadableError
from eagle3_contracts.writing.files import replacing

_ALIGNED = 8
"""Bytes that the data starts at a multiple of, as the format's own writer keeps it."""


def write_metadata(path: Path, key: str, text: str) -> None:
    """Put one entry into a file's metadata, by rename; nothing is renamed unless the tensors are bit-identical.

    Raises ``SubjectError`` for a file that cannot be read to its end.
    """
    _check(path)
    before = hash_data(path)
    with replacing(path) as copy:
        with path.open("rb") as original:
            length = int.from_bytes(original.read(8), "little")
            header = json.loads(original.read(length))
            copy.write(_build(header, key, text))
            shutil.copyfileobj(original, copy, 1 << 20)
        copy.flush()
        after = hash_data(Path(copy.name))
        if after != before:
            raise SubjectError(str(path), "was not copied bit by bit, so it stays as it was", remedy="check the disk")


def hash_data(path: Path) -> str:
    """Give the sha256 of everything that tensors consist of: their records in the header, and the data."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        _update(digest, file)
    return digest.hexdigest()


def _build(header: dict[str, Any], key: str, text: str) -> bytes:
    metadata = {**header.pop("__metadata__", {}), key: text}
    body = json.dumps({"__metadata__": metadata, **header}, separators=(",", ":"), ensure_ascii=False).encode()
    body += b" " * (-len(body) % _ALIGNED)
    return len(body).to_bytes(8, "little") + body


def _update(digest: Any, file: BinaryIO) -> None:
    while block := file.read(1 << 20):
        digest.update(block)


def _check(path: Path) -> None:
    """Refuse a file whose header does not describe it."""
    try:
        read_header(FoundFile(path, path.name, path.suffix, path.stat().st_size))
    except UnreadableError as error:
        problem = error.problem
        raise SubjectError(str(path), problem.reason, remedy=problem.remedy) from None
