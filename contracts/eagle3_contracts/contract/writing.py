"""Writing a contract as the TOML text that reads back as the same contract."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.contract.document import Contract

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_GROUPS = ("planes", "tolerance")
_OPTIONAL = ("serving", "tolerance")
_TABLES = ("target", "storage", "drafter", "alignment", "serving")
SCHEMA_LINE = "#:schema ../schema-1.json"
"""What tells an editor (taplo, Even Better TOML) the format, for a document in a folder of the catalog."""


def write_contract(contract: Contract, remarks: Mapping[str, str] | None = None) -> str:
    """Give the document's text: what equals its default is left out, as in the digest.

    ``remarks``: comments by place, such as ``target.dtype``, ``planes.low.norm``. Each stands above its key, or at the
    head of its table where the key is left out.
    """
    told = remarks or {}
    said = contract.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    lines = [SCHEMA_LINE, ""]
    texts = {key: _write_texts(value) for key, value in said.items() if key == "sources"}
    plain = {key: _write_value(value) for key, value in said.items() if key not in {*_TABLES, *_GROUPS}}
    lines += [f"{key} = {value}" for key, value in {**plain, **texts}.items()]
    for name, value in said.items():
        if name == "planes":
            lines += _comment_planes(value, told)
            for plane in value:
                lines += ["", "[[planes]]", *_write_table(plane, f"planes.{plane['name']}", told)]
        elif name == "tolerance":
            for dtype, bounds in value.items():
                place = f"tolerance.{dtype}"
                lines += ["", *_comment(told, place), f"[{place}]", *_write_entries(bounds)]
        elif name in _TABLES:
            lines += ["", f"[{name}]", *_write_table(value, name, told)]
    absent = [place for place in told if place.partition(".")[0] in _OPTIONAL and place not in _places(said)]
    lines += ["", *(line for place in absent for line in _comment(told, place, place))] if absent else []
    return "\n".join(lines) + "\n"


def _comment_planes(planes: list[Mapping[str, Any]], told: Mapping[str, str]) -> list[str]:
    """Give what is told of the planes together."""
    named = [f"planes.{plane['name']}" for plane in planes]
    spots = [spot for spot in told if _within(spot, "planes") and not any(_within(spot, name) for name in named)]
    return ["", *(line for spot in spots for line in _comment(told, spot, spot))] if spots else []


def _places(said: Mapping[str, Any]) -> set[str]:
    return set(said) | {f"{name}.{key}" for name in _GROUPS for key in said.get(name, ()) if key}


def _write_table(table: Mapping[str, Any], place: str, told: Mapping[str, str]) -> Iterator[str]:
    """Write a table's entries, each under what is told of it or of something inside it."""
    own = {key: [spot for spot in told if _within(spot, f"{place}.{key}")] for key in table}
    spots = [spot for spot in told if _within(spot, place) and not any(spot in found for found in own.values())]
    for spot in spots:
        yield from _comment(told, spot, spot.removeprefix(f"{place}."))
    for key, value in table.items():
        for spot in own[key]:
            inner = spot.removeprefix(f"{place}.{key}").lstrip(".")
            yield from _comment(told, spot, inner)
        yield f"{_write_key(key)} = {_write_value(value)}"


def _within(spot: str, place: str) -> bool:
    return spot == place or spot.startswith(f"{place}.")


def _comment(told: Mapping[str, str], place: str, label: str = "") -> list[str]:
    """Give a remark as one line of comment, without what TOML forbids in one."""
    if place not in told:
        return []
    text = f"{label}, {told[place]}" if label else told[place]
    return ["# " + "".join(char if char.isprintable() else " " for char in text)]


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
