"""All launches, resolved once for the run by the installed SGLang."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
from filelock import FileLock

from eagle3_contracts.embedded import embedded_target
from support.launch_commands import all_commands
from support.sglang_arguments import Command, Resolved, ask


@dataclass(frozen=True)
class Answers:
    """What the server makes of each launch, and the flags that it defines."""

    release: str
    commands: Mapping[object, Command]
    resolved: Mapping[object, Resolved]
    flags: frozenset[str]


@pytest.fixture(scope="session")
def answers(drafter: Path, run_folder: Path) -> Answers:
    """Ask once: whichever worker comes first resolves all launches, the others read what it found."""
    kept = run_folder / "launch-rules.pickle"
    with FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            folder = run_folder / "launch-rules"
            folder.mkdir()
            commands = all_commands(embedded_target(), drafter, folder)
            resolved, flags = ask(tuple(commands.values()))
            found = Answers(version("sglang"), commands, dict(zip(commands, resolved, strict=True)), flags)
            kept.write_bytes(pickle.dumps((found.commands, found.resolved, found.flags)))
    commands, known, flags = pickle.loads(kept.read_bytes())  # noqa: S301 (written here, in this run)
    return Answers(version("sglang"), commands, known, flags)
