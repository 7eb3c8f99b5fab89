"""Writing a report's file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write to a sibling, then rename: a reader sees the old file or the new one, never half of one.

    Folders on the way are made. Raises ``OSError``, and leaves no sibling behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, sibling = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(sibling).chmod(0o666 & ~mask)
        Path(sibling).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(sibling).unlink()
        raise
