"""Digests of a recording's files, and the command that brings them back."""

from __future__ import annotations

import hashlib
from pathlib import Path


def restore_command(folder: Path) -> str:
    """Say how a recording is restored: from git in a source tree, by reinstalling, or by recording it again."""
    parts = folder.parts
    if "site-packages" in parts:
        return "pip install --force-reinstall --no-deps eagle3-contracts"
    if "golden" not in parts:
        return "bring the folder back from where it is kept, or record it again: eagle3-contracts record NAME"
    at = max(index for index, part in enumerate(parts) if part == "golden")
    inside = "/".join(parts[at:])
    return f"git restore --source=HEAD {inside} && git clean -f {inside}"


def file_digest(path: Path) -> str:
    """Give the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
