"""What users read, kept as files: a message that changes is read by a person before it is committed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.consumer import BROKEN, CRASHING, LOUD
from support.snapshots import compare_snapshot, list_unused

SNAPSHOTS = Path(__file__).parent / "snapshots"
TOLD = {
    "check-broken": ("check", "own.toml", "--capture", BROKEN),
    "check-crashing": ("check", "own.toml", "--capture", CRASHING),
    "check-loud": ("check", "own.toml", "--capture", LOUD),
    "check-document-alone": ("check", "own.toml"),
    "refused-empty-subject": ("check", "own.toml", "--capture="),
    "refused-absent-function": ("check", "own.toml", "--capture", "captures.py:absent"),
    "refused-absent-dataset": ("check", "own.toml", "--hidden-states", "absent"),
    "refused-broken-contract": ("check", "broken.toml"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_command_tells(run: Callable[..., Any], toy: Path, name: str) -> None:
    text = (toy / "own.toml").read_text(encoding="utf-8")
    (toy / "broken.toml").write_text(text.replace("boundary = 4", "boundary = 40"), encoding="utf-8")
    found = run(*TOLD[name])
    told = f"exit code {found.code}\n{found.out}{found.err}".replace(str(toy), "FOLDER")
    compare_snapshot(SNAPSHOTS / f"{name}.txt", told)


def test_every_snapshot_is_compared_with() -> None:
    assert list_unused(SNAPSHOTS, (f"{name}.txt" for name in TOLD)) == []
