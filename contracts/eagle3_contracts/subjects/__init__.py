"""How a thing under test is read: every stage's folder turns a path or a name into typed evidence.

Standard library only, so that the plugin can name subjects without importing what reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

READERS = {
    "capture": "captures",
    "dataset": "datasets",
    "loader": "loaders",
    "checkpoint": "checkpoints",
    "launch": "launches",
    "server": "servers",
    "golden": "goldens",
}
"""Stage to the folder that reads its subjects: ``gather(contract, subject, options) -> evidence``."""


@dataclass(frozen=True, slots=True)
class Need:
    """A package that a subject cannot be without: its module, and what to install. Nothing is imported to look."""

    module: str
    remedy: str

    def met(self) -> bool:
        """Tell whether the package is installed."""
        return find_spec(self.module) is not None


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing under test: its stage, what the user named (a path, a ``module:function``, a URL), its label.

    ``code``: the capture itself, or the loader's factory, where a test's fixture gives a function instead of a name.
    ``need``: what to skip the subject for, where nobody named it and its package may be absent; a subject that was
    named has none, and is an error without its package.
    """

    stage: str
    value: str
    label: str
    code: Callable[..., Any] | None = field(default=None, compare=False)
    need: Need | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Options:
    """How evidence is made. ``target``: a folder or file with the target's weights, whole or in part.

    ``scan``: ``headers`` reads no tensor data, ``sample`` a bounded number of files, ``full`` all of them.
    ``probes``: samples held against the target. ``sampled_files``: files read by ``sample``. ``seed`` picks them.
    ``drafter``: the folder of the drafter that a launched server loads; the recorded one if it is not given. A launch
    command is held against it where the command names a folder that does not exist.
    """

    target: str | None = None
    scan: str = "sample"
    probes: int = 4
    sampled_files: int = 64
    seed: int = 0
    drafter: str | None = None


class SubjectError(Exception):
    """A subject or target that cannot be used at all: what it is, the reason, the remedy. Exit code 2."""

    def __init__(self, source: str, reason: str, *, remedy: str) -> None:
        self.source, self.reason, self.remedy = source, reason, remedy
        super().__init__(f"{source}: {reason}\n  remedy: {remedy}")
