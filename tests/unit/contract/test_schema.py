"""The JSON Schema that editors use says what the model says."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from eagle3_contracts.contract.loading import catalog_root, list_catalog
from eagle3_contracts.contract.schema import build_schema, find_breaks, schema_path, write_schema
from support.documents import EXAMPLES, read_values

SCHEMA = build_schema()
TABLES: dict[str, Any] = {"Contract": SCHEMA, **SCHEMA["$defs"]}


def test_the_committed_schema_is_in_step() -> None:
    assert schema_path().read_text(encoding="utf-8") == write_schema(), (
        "run `python -m eagle3_contracts.contract.releasing --schema`"
    )


def test_the_schema_names_its_dialect_and_itself() -> None:
    assert SCHEMA["$schema"].startswith("https://json-schema.org/")
    assert SCHEMA["title"] == "EAGLE-3 hidden-state contract, schema 1"
    assert "schema" in SCHEMA["properties"], "keys are called as in the document"


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_described_and_closed(table: str) -> None:
    assert TABLES[table]["description"]
    assert TABLES[table]["additionalProperties"] is False


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_an_example_has_no_key_that_the_schema_lacks(path: Any) -> None:
    assert list(_foreign(read_values(path), SCHEMA)) == []


def test_a_misspelt_key_is_foreign_to_the_schema() -> None:
    values = read_values()
    values["drafter"]["rope"]["thta"] = 1.0
    assert list(_foreign(values, SCHEMA)) == ["drafter.rope.thta"]


def test_the_schema_is_no_contract_of_the_catalog() -> None:
    assert schema_path().parent == catalog_root()
    assert all("/" not in name and name != "schema-1" for name in list_catalog())


def test_a_new_optional_key_breaks_nothing() -> None:
    grown = copy.deepcopy(SCHEMA)
    grown["$defs"]["Plane"]["properties"]["colour"] = {"default": None}
    assert find_breaks(SCHEMA, grown) == []
    assert find_breaks(grown, SCHEMA) == ["Plane.colour: the key is gone"]


def test_a_table_that_went_is_a_break() -> None:
    shrunk = json.loads(json.dumps(SCHEMA))
    del shrunk["$defs"]["Tokenizer"]
    assert "Tokenizer.vocab_sha256: the key is gone" in find_breaks(SCHEMA, shrunk)


def _foreign(value: Any, schema: dict[str, Any], place: str = "") -> Any:
    """List the keys that no schema for their place knows."""
    options = [_resolve(option) for option in (schema.get("anyOf") or schema.get("oneOf") or [schema])]
    if isinstance(value, list):
        items = next((option["items"] for option in options if "items" in option), {})
        for entry in value:
            yield from _foreign(entry, _resolve(items), place)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        where = f"{place}.{key}".removeprefix(".")
        known = [found for option in options if (found := _schema_of(key, option)) is not None]
        if not known:
            yield where
        for found in known[:1]:
            yield from _foreign(inner, _resolve(found), where)


def _schema_of(key: str, table: dict[str, Any]) -> dict[str, Any] | None:
    """Give the schema of a key, or None if the table does not take it."""
    if key in table.get("properties", {}):
        return dict(table["properties"][key])
    free = [inner for pattern, inner in table.get("patternProperties", {}).items() if re.search(pattern, key)]
    if key in table.get("propertyNames", {}).get("enum", [key]) and isinstance(table.get("additionalProperties"), dict):
        free.append(table["additionalProperties"])
    return free[0] if free else None


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return TABLES[reference.rpartition("/")[2]] if reference else schema
