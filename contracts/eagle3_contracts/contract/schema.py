"""The format as a JSON Schema, for editors: ``catalog/schema-1.json``, kept in step by a test.

A document names it in its first line, ``#:schema ../schema-1.json`` (taplo, Even Better TOML). It knows every
key, type and list of values; what must agree between tables only ``load_contract`` knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.loading import SCHEMA, catalog_root


def schema_path(root: Path | None = None) -> Path:
    """Give the path of the schema's file in the catalog."""
    return (root or catalog_root()) / f"schema-{SCHEMA}.json"


def build_schema() -> dict[str, Any]:
    """Give the JSON Schema of the format."""
    body = Contract.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **body,
        "title": f"EAGLE-3 hidden-state contract, schema {SCHEMA}",
    }


def write_schema() -> str:
    """Give the text of the schema's file."""
    return json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n"


def find_breaks(released: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """List what a released format promised and another does not keep.

    A key that went or became required would refuse documents that were valid; a default that changed would
    change what they say while their digest stays the same.
    """
    return [line for place, old, new in _pair_tables(released, current) for line in _table_breaks(place, old, new)]


def _pair_tables(released: Mapping[str, Any], current: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    yield "Contract", released, current
    tables = current.get("$defs", {})
    for name, table in released.get("$defs", {}).items():
        yield name, table, tables.get(name, {})


def _table_breaks(place: str, released: Mapping[str, Any], current: Mapping[str, Any]) -> Iterator[str]:
    keys = current.get("properties", {})
    for key, old in released.get("properties", {}).items():
        new = keys.get(key)
        if new is None:
            yield f"{place}.{key}: the key is gone"
        elif "default" in old and ("default" not in new or old["default"] != new["default"]):
            yield f"{place}.{key}: the default was {old['default']!r} and is {new.get('default', 'gone')!r}"
    for key in sorted(set(current.get("required", [])) - set(released.get("required", []))):
        yield f"{place}.{key}: the key is required now"
