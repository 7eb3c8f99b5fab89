"""A contract as TOML text that is read back as the same contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from eagle3_contracts.contract import Contract


def render_toml(contract: Contract) -> str:
    """Write every value that is set; names and texts stand as JSON writes them, which TOML reads alike."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    return "\n".join(_render(document)) + "\n"


def _render(document: dict[str, Any]) -> Iterator[str]:
    yield from (_assign(name, value) for name, value in document.items() if not _is_table(value))
    for name, value in document.items():
        if isinstance(value, dict):
            yield from ("", f"[{name}]", *(_assign(key, item) for key, item in value.items()))
        elif _is_table(value):
            for entry in value:
                yield from ("", f"[[{name}]]", *(_assign(key, item) for key, item in entry.items()))


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _assign(name: str, value: object) -> str:
    return f"{json.dumps(name)} = {_write(value)}"


def _write(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_assign(name, item) for name, item in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(_write(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=True)
