"""Writing a contract as the TOML text that reads back as the same contract."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.contract.document import Contract

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_GROUPS = ("planes", "tolerance")
_TABLES = ("target", "storage", "drafter", "alignment", "serving")
SCHEMA_LINE = "#:schema ../schema-1.json"
"""What tells an editor (taplo, Even Better TOML) the format, for a document in a folder of the catalog."""


def write_contract(contract: Contract) -> str:
    """Give the document's text: what equals its default is left out, as in the digest."""
    said = contract.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    lines = [SCHEMA_LINE, ""]
    texts = {key: _write_texts(value) for key, value in said.items() if key == "sources"}
    plain = {key: _write_value(value) for key, value in said.items() if key not in {*_TABLES, *_GROUPS}}
    lines += [f"{key} = {value}" for key, value in {**plain, **texts}.items()]
    for name, value in said.items():
        if name == "planes":
            for plane in value:
                lines += ["", "[[planes]]", *_write_entries(plane)]
        elif name == "tolerance":
            for dtype, bounds in value.items():
                lines += ["", f"[tolerance.{dtype}]", *_write_entries(bounds)]
        elif name in _TABLES:
            lines += ["", f"[{name}]", *_write_entries(value)]
    return "\n".join(lines) + "\n"


def _write_entries(table: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_write_key(key)} = {_write_value(value)}" for key, value in table.items())


def _write_texts(texts: list[str]) -> str:
    return "\n".join(["[", *(f"    {_write_value(text)}," for text in texts), "]"])


def _write_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _write_value(key)


def _write_value(value: Any) -> str:
    """Write one value; JSON's strings and numbers are TOML's, but for the exponent without a sign or point."""
    if isinstance(value, Mapping):
        inner = ", ".join(_write_entries(value))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_write_value(entry) for entry in value)}]"
    if isinstance(value, str):
        # DEL is printable to JSON and refused by TOML.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return json.dumps(value)
