"""Texts kept in files: a test compares, and only an explicit variable writes.

``EAGLE3_CONTRACTS_UPDATE_SNAPSHOTS=1`` rewrites the files of the tests that run; under ``CI=true`` it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from eagle3_contracts.findings import Finding

VARIABLE = "EAGLE3_CONTRACTS_UPDATE_SNAPSHOTS"


def compare_snapshot(path: Path, text: str) -> None:
    """Fail if the file holds another text, or does not exist; rewrite it if the variable says so."""
    if os.environ.get(VARIABLE) == "1":
        assert os.environ.get("CI") != "true", f"{VARIABLE} is set in CI, where nothing may be rewritten"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no snapshot {path.name}; run with {VARIABLE}=1 and read what it writes"
    assert text == path.read_text(encoding="utf-8"), f"if the new text is meant, run with {VARIABLE}=1"


def list_unused(folder: Path, used: Iterable[str]) -> list[str]:
    """Name the files in a folder of snapshots that no test compares with."""
    return sorted({path.name for path in folder.iterdir()} - set(used))


def tell_findings(findings: Sequence[Finding]) -> str:
    """Write findings out, one field a line, leaving empty fields away."""
    blocks = []
    for item in findings:
        lines = [f"{item.level} {item.verdict}" + (f" [rung {item.rung}]" if item.rung else "")]
        lines += [f"  {name}: {text}" for name, text in _fields(item) if text]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _fields(item: Finding) -> list[tuple[str, str]]:
    measure = "" if item.measure is None else f"{item.measure:.4g}"
    bound = "" if item.bound is None else f" against {item.bound:.4g}"
    told = {"observed": item.observed, "expected": item.expected, "where": str(item.where), "measure": measure + bound}
    return [*told.items(), ("hint", item.hint)]
