"""Wheels of peers, downloaded once, read member by member or unpacked: nothing is installed or run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

WHEELS = "PEER_WHEELS"
"""Environment variable: a folder in which wheels are looked for and kept."""
LARGE = "PEER_LARGE_WHEELS"
"""Environment variable: 1 also downloads wheels of more than 150 MB (vLLM), and every release between."""


class Sources:
    """The sources of released wheels, downloaded once with pip (``--no-deps``, wheels only)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()
        self._archive = cache(self._open_wheel)
        self.read = cache(self._read)

    def _read(self, name: str, version: str, member: str) -> str | None:
        """Give the text of a member of a wheel, or None if the wheel has no such member."""
        try:
            return self._archive(name, version).read(member).decode()
        except KeyError:
            return None

    def names(self, name: str, version: str, prefix: str) -> list[str]:
        """List the members directly below a prefix, without it."""
        below = (
            item.removeprefix(prefix) for item in self._archive(name, version).namelist() if item.startswith(prefix)
        )
        return [member for member in below if member and "/" not in member]

    def text(self, name: str, version: str, member: str) -> str:
        """Give the text of a member; fails with its name if the wheel has none."""
        found = self.read(name, version, member)
        assert found is not None, f"{name} {version} has no {member}: upstream moved it, read the rule anew"
        return found

    def reader(self, name: str, version: str, prefix: str) -> Callable[[str], str | None]:
        """Give a function that reads members below a prefix."""
        return lambda path: self.read(name, version, f"{prefix}/{path}")

    def unpack(self, name: str, version: str, folder: Path) -> Path:
        """Unpack a wheel into a folder and give the folder."""
        self._archive(name, version).extractall(folder)
        return folder

    def close(self) -> None:
        """Close every wheel that was opened."""
        self._open.close()

    def _open_wheel(self, name: str, version: str) -> zipfile.ZipFile:
        return self._open.enter_context(zipfile.ZipFile(self._find_wheel(name, version)))

    def _find_wheel(self, name: str, version: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        for wheel in self.folder.glob(pattern):
            return wheel
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            subprocess.run([*command, "--dest", scratch, f"{name}=={version}"], check=True)  # noqa: S603
            for wheel in Path(scratch).glob("*.whl"):
                wheel.replace(self.folder / wheel.name)
        return next(self.folder.glob(pattern))


def large_wheels_wanted() -> bool:
    """Tell whether the environment asks for the nightly part."""
    return os.environ.get(LARGE, "") not in {"", "0"}
