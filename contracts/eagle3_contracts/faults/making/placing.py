"""A folder that is there whole or not at all: written under another name beside its place, and moved."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")

_NEW = "name a new folder; nothing is ever overwritten"


class MakingError(Exception):
    """A fault that is not known, or a folder that cannot be had; ``remedy`` says what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(f"{reason}; {remedy}")


def place_folder(folder: Path, write: Callable[[Path], Made]) -> Made:
    """Let a function write into an empty folder, and move what it wrote to its place.

    ``folder``: new, or empty; an empty one stays the folder that it is. Raises ``MakingError``, and then all is as it
    was before.
    """
    _want_free(folder)
    empty = folder.is_dir()
    with _explaining(folder), _parents(folder), _scratch(folder if empty else folder.parent) as scratch:
        written = scratch / "made"
        written.mkdir()
        made = write(written)
        if empty:
            for entry in sorted(written.iterdir()):
                entry.rename(folder / entry.name)
        else:
            written.rename(folder)
        return made


def _want_free(folder: Path) -> None:
    with _explaining(folder):
        for place in (folder, *folder.parents):
            if place.is_symlink() and not place.exists():
                raise MakingError(f"{place} is a link to {place.readlink()}, which is not there", _NEW)
            if place.exists() and not place.is_dir():
                raise MakingError(f"{place} is a file", _NEW)
        taken = folder.is_dir() and any(folder.iterdir())
    if taken:
        raise MakingError(f"{folder} exists and is not empty", _NEW)


@contextmanager
def _explaining(folder: Path) -> Iterator[None]:
    """Tell of a place that cannot be written to in one line; what is no fault of the place passes."""
    try:
        yield
    except Exception as error:
        reason = _name_reason(error)
        if reason is None:
            raise
        remedy = "name a folder in a place that can be written to and has room"
        raise MakingError(f"{folder} cannot be written: {reason}; nothing was left behind", remedy) from error


def _name_reason(error: Exception) -> str | None:
    """Say why something could not be written, without paths; None for any other error."""
    numbered = re.search(r"\[Errno (\d+)\]|\(os error (\d+)\)", str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if numbered:  # shutil.Error of many files, and what the writers in Rust raise
        return os.strerror(int(numbered[1] or numbered[2]))
    if isinstance(error, OSError):
        return type(error).__name__
    if "inline_container" in str(error) or "PytorchStreamWriter" in str(error):
        return "torch.save could not write a file whole"
    return None


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folders above, and take them away again if nothing comes of it."""
    missing = [parent for parent in folder.parents if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    scratch = Path(tempfile.mkdtemp(prefix=".eagle3-contracts-", dir=place))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
