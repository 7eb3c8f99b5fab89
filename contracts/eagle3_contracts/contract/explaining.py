"""From pydantic's errors to defects: every one at once, with the place as the author wrote it."""

from __future__ import annotations

import datetime as dt
import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from eagle3_contracts.contract.agreement import Parts, find_disagreements
from eagle3_contracts.contract.base import PATTERNS, Table
from eagle3_contracts.contract.defects import Defect, TableError
from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.drafter import Drafter
from eagle3_contracts.contract.planes import Plane
from eagle3_contracts.contract.storage import Storage

AnyTable = TypeVar("AnyTable", bound=Table)
Location = tuple[str | int, ...]

_OBSERVED_CAP = 60
_KINDS = {
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "a number above {}"),
    "greater_than_equal": ("ge", "a number of at least {}"),
    "less_than": ("lt", "a number below {}"),
    "less_than_equal": ("le", "a number of at most {}"),
    "too_short": ("min_length", "a list of at least {}"),
    "too_long": ("max_length", "a list of at most {}"),
}


def explain_defects(values: dict[str, Any]) -> tuple[Defect, ...]:
    """List every defect of a document read from TOML; empty means that it is a contract.

    What pydantic leaves out, since it checks a table as a whole only once its keys are sound, is asked for
    again without the keys that are wrong.
    """
    dates = list(_take_dates(values, ()))[::-1]
    dated = {where for where, _ in dates}
    found = [Defect(_place(values, where), f"the date {date}", "no date, or a text in quotes") for where, date in dates]
    details = [item for item in _validate(values) if not (item["type"] == "missing" and item["loc"] in dated)]
    found += [defect for item in details for defect in _explain(values, item)]
    if any(item["loc"] for item in details):
        pruned = _prune(values, details)
        again = [item for item in _validate(pruned) if item["type"] == "value_error" and item["loc"]]
        found += [defect for item in again for defect in _explain(values, item)]
        found += find_disagreements(_read_parts(values, pruned))
    return tuple(dict.fromkeys(found))


def _validate(values: dict[str, Any]) -> list[ErrorDetails]:
    """Give pydantic's errors, without those that only follow from others."""
    try:
        Contract.model_validate_json(json.dumps(values))
    except ValidationError as error:
        return [item for item in error.errors(include_url=False) if not _is_echo(item)]
    return []


def _is_echo(item: ErrorDetails) -> bool:
    """Tell whether a list is called too short only because its entries are wrong."""
    return item["type"] == "too_short" and len(item["input"]) >= item.get("ctx", {})["min_length"]


def _prune(values: dict[str, Any], details: list[ErrorDetails]) -> dict[str, Any]:
    """Take out the optional and unknown keys that are wrong, so that the rest can be checked."""
    pruned: dict[str, Any] = json.loads(json.dumps(values))
    for item in details:
        *path, key = _without_tags(item["loc"]) or ("",)
        table: Any = pruned
        for part in path:
            table = _step(table, part)
        required = {field.alias or name for model in _models_at(tuple(path)) for name, field in _required(model)}
        if isinstance(table, dict) and key not in required:
            table.pop(key, None)
    return pruned


def _step(table: Any, part: str | int) -> Any:
    if isinstance(table, dict):
        return table.get(str(part))
    return table[part] if isinstance(table, list) and isinstance(part, int) and part < len(table) else None


def _required(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    return ((name, field) for name, field in model.model_fields.items() if field.is_required())


def _without_tags(location: Location) -> Location:
    """Leave out what pydantic puts between the keys of a document: union tags and the mark of a bad key."""
    return tuple(
        part
        for depth, part in enumerate(location)
        if part != "[key]" and not (part in {"gqa", "mla"} and location[depth - 1] == "attention")
    )


def _take_dates(value: Any, where: Location) -> Iterator[tuple[Location, str]]:
    """Take TOML dates out of a document (no field takes one), and give their places."""
    entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if value else []
    for key, entry in reversed(entries):
        if isinstance(entry, dt.date | dt.time):
            del value[key]
            yield (*where, key), str(entry)
        elif isinstance(entry, dict | list):
            yield from _take_dates(entry, (*where, key))


def _place(values: Mapping[str, Any], location: Location) -> str:
    """Write a location as the author would: planes by name, other entries by number, no union tags."""
    parts: list[str] = []
    location = _without_tags(location)
    for depth, part in enumerate(location):
        if isinstance(part, str):
            parts.append(part)
        elif location[:depth] == ("planes",):
            parts.append(_plane_name(values, part))
        else:
            parts.append(f"#{part + 1}")
    return ".".join(parts)


def _plane_name(values: Mapping[str, Any], index: int) -> str:
    """Give a plane's name, or its number where it has none that could be read."""
    planes = values.get("planes")
    entry = planes[index] if isinstance(planes, list) and index < len(planes) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and name else f"#{index + 1}"


def _explain(values: Mapping[str, Any], details: ErrorDetails) -> Iterator[Defect]:
    """Turn one pydantic error into defects; a table's own check may hold several."""
    place = _place(values, details["loc"])
    kind, context = details["type"], details.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, TableError):
        yield from (defect.within(place) for defect in cause.defects)
    elif kind == "extra_forbidden":
        yield Defect(place, "a key that schema 1 does not know", "no such key", _suggest(details["loc"]))
    elif kind == "missing":
        yield Defect(place, "nothing", "a value: the key is required")
    elif kind == "union_tag_not_found":
        yield Defect(f"{place}.kind", "nothing", "'gqa' or 'mla'")
    elif kind == "union_tag_invalid":
        yield Defect(f"{place}.kind", repr(context["tag"]), "'gqa' or 'mla'")
    else:
        yield Defect(place, _observe(details["input"]), _expect(details))


def _expect(details: ErrorDetails) -> str:
    """Say what a value should be."""
    kind, context = details["type"], details.get("ctx", {})
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return words.format(context[key])
    if kind == "literal_error":
        return f"{context['expected']}"
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], f"a text like {context['pattern']}")
    return details["msg"][:1].lower() + details["msg"][1:]


def _observe(value: Any) -> str:
    """Show a value on one line, cut where it grows long."""
    shown = json.dumps(value, ensure_ascii=True) if isinstance(value, bool | int | float | list | dict) else repr(value)
    return shown if len(shown) <= _OBSERVED_CAP else f"{shown[:_OBSERVED_CAP]}..."


def _suggest(location: Location) -> str:
    """Name the key that was probably meant."""
    known = _known_keys(location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.65)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the table takes {', '.join(known)}" if known else ""


def _known_keys(location: Location) -> list[str]:
    """List the keys of the table at a location."""
    fields = (item for model in _models_at(location) for item in model.model_fields.items())
    return sorted({field.alias or name for name, field in fields})


def _models_at(location: Location) -> list[type[BaseModel]]:
    """Give the models of the table at a location; none for a table with free keys."""
    models: list[type[BaseModel]] = [Contract]
    free = False
    for part in _without_tags(location):
        if isinstance(part, int) or free:
            free = False
            continue
        fields = [model.model_fields[part].annotation for model in models if part in model.model_fields]
        free = any(get_origin(annotation) is dict for annotation in fields)
        models = [found for annotation in fields for found in _models_in(annotation)]
    return [] if free else models


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the tables that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _read_parts(values: Mapping[str, Any], pruned: Mapping[str, Any]) -> Parts:
    """Read the tables that can be read, each by itself; planes only whole, since a state left out is another."""
    entries = values.get("planes")
    tables = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    names = [entry.get("name") for entry in tables]
    readable = bool(tables) and all(isinstance(name, str) for name in names)
    return Parts(
        layers=_read_count(values.get("target"), "num_hidden_layers"),
        hidden_size=_read_count(values.get("target"), "hidden_size"),
        vocab_size=_read_count(values.get("target"), "vocab_size"),
        planes=tuple(plane for plane in (_read_table(Plane, entry) for entry in tables) if plane),
        names=tuple(str(name) for name in names) if readable else None,
        storage=_read_table(Storage, pruned.get("storage")),
        drafter=_read_table(Drafter, pruned.get("drafter")),
    )


def _read_count(table: Any, key: str) -> int | None:
    """Read one count of a table, whatever else is wrong with the table."""
    count = table.get(key) if isinstance(table, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def _read_table(model: type[AnyTable], value: Any) -> AnyTable | None:
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError:
        return None
