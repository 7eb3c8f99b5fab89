"""From pydantic's errors to defects: every one at once, with the place as the author wrote it."""

from __future__ import annotations

import datetime as dt
import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
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
    "too_short": ("min_length", "at least {} entries"),
    "too_long": ("max_length", "at most {} entries"),
}


def explain_defects(values: dict[str, Any]) -> tuple[Defect, ...]:
    """List every defect of a document read from TOML; empty means that it is a contract."""
    dates = list(_take_dates(values, ()))
    defects = [Defect(_place(values, where), f"the date {date}", "no date; put it in quotes") for where, date in dates]
    try:
        Contract.model_validate_json(json.dumps(values))
    except ValidationError as error:
        details = error.errors(include_url=False)
        removed = {where for where, _ in dates}
        for detail in details:
            if not (detail["type"] == "missing" and detail["loc"] in removed):
                defects += _explain(values, detail)
        if any(detail["loc"] for detail in details):
            defects += [found for found in find_disagreements(_read_parts(values)) if found not in defects]
    return tuple(defects)


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
    for depth, part in enumerate(location):
        if part == "[key]" or (part in {"gqa", "mla"} and location[depth - 1] == "attention"):
            continue
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
    close = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the table takes {', '.join(known)}" if known else ""


def _known_keys(location: Location) -> list[str]:
    """List the keys of the table at a location."""
    models: list[type[BaseModel]] = [Contract]
    for part in location:
        if isinstance(part, int) or part == "[key]":
            continue
        fields = [model.model_fields[part].annotation for model in models if part in model.model_fields]
        models = [found for annotation in fields for found in _models_in(annotation)] or models
    return sorted({field.alias or name for model in models for name, field in model.model_fields.items()})


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the tables that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _read_parts(values: Mapping[str, Any]) -> Parts:
    """Read the tables that can be read, each by itself."""
    entries = values.get("planes")
    tables = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    names = [entry.get("name") for entry in tables]
    readable = bool(tables) and all(isinstance(name, str) for name in names)
    return Parts(
        layers=_read_count(values.get("target"), "num_hidden_layers"),
        hidden_size=_read_count(values.get("target"), "hidden_size"),
        vocab_size=_read_count(values.get("target"), "vocab_size"),
        planes=tuple(plane for plane in (_read_table(Plane, entry, whole=True) for entry in tables) if plane),
        names=tuple(str(name) for name in names) if readable else None,
        storage=_read_table(Storage, values.get("storage")),
        drafter=_read_table(Drafter, values.get("drafter")),
    )


def _read_count(table: Any, key: str) -> int | None:
    """Read one count of a table, whatever else is wrong with the table."""
    count = table.get(key) if isinstance(table, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def _read_table(model: type[AnyTable], value: Any, *, whole: bool = False) -> AnyTable | None:
    """Read one table; without its optional or unknown keys that are wrong, unless it is wanted ``whole``."""
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        wrong = {detail["loc"][0] for detail in error.errors(include_url=False) if detail["loc"]}
        required = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
        if whole or not isinstance(value, dict) or not wrong or wrong & required:
            return None
        return _read_table(model, {key: entry for key, entry in value.items() if key not in wrong}, whole=True)
