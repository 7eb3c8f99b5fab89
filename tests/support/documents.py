"""Contract documents to vary: a sound one, and the same with some of its values changed."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
GONE = object()
"""Stands for a key that is taken out."""


def read_values(path: Path = EXAMPLES / "llama.toml") -> dict[str, Any]:
    """Give the document's values as TOML has them."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def change_values(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Set values by place, planes by name: ``{"planes.low.boundary": 3, "drafter.rope": GONE}``."""
    changed = copy.deepcopy(values)
    for place, value in changes.items():
        *path, last = place.split(".")
        table: Any = changed
        for part in path:
            if isinstance(table, list):
                table = next(entry for entry in table if entry["name"] == part)
            else:
                table = table.setdefault(part, {})
        if isinstance(table, list):
            table[:] = [entry for entry in table if entry["name"] != last] + ([] if value is GONE else [value])
        elif value is GONE:
            del table[last]
        else:
            table[last] = value
    return changed


def make_contract(changes: dict[str, Any] | None = None, *, base: Path = EXAMPLES / "llama.toml") -> Contract:
    """Build a contract from an example with some values changed."""
    return Contract.model_validate_json(json.dumps(change_values(read_values(base), changes or {})))
