"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from eagle3_contracts.subjects import SubjectError


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. Raises ``SubjectError`` if it does; nothing is ever overwritten."""
    try:
        with _sibling(path) as (file, sibling):
            file.write(text.encode("utf-8"))
            file.close()
            _spread_mode(sibling)
            # A link fails where the name is taken, so that no other writer's file is replaced in between.
            os.link(sibling, path)
    except FileExistsError:
        raise SubjectError(
            str(path), "exists, and is not overwritten", remedy="remove it, or give --out FILE"
        ) from None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a sibling to write to; it takes the file's name, and its mode, if all went well."""
    with _sibling(path) as (file, sibling):
        yield file
        file.flush()
        os.fsync(file.fileno())
        if path.exists():
            sibling.chmod(path.stat().st_mode & 0o7777)
        else:
            _spread_mode(sibling)
        sibling.replace(path)


@contextmanager
def _sibling(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:  # its file name is the hidden sibling's, which nobody asked for
        reason = "is no folder" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else str(error.strerror)
        remedy = f"name a file in a folder that is there and can be written to, instead of {path}"
        raise SubjectError(str(path.parent), reason, remedy=remedy) from error
    os.close(handle)
    try:
        with Path(name).open("wb") as file:
            yield file, Path(name)
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()


def _spread_mode(path: Path) -> None:
    """Give a new file the mode that the user's umask leaves, where mkstemp gives it to its owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
