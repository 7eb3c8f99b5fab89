"""Which key of a draft's config.json each engine reads its ids from, and which it passes over.

The same ids in the wrong place are ignored without a word, and the engine falls back to its default. Read in
SGLang 0.5.9 to 0.5.23 (model_runner.py; spec_aux_hidden_state.py since 0.5.16), vLLM 0.22 to 0.33
(gpu_model_runner.py, gpu/spec_decode/eagle/eagle3_utils.py), SpecForge 0.2.0 (model_providers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.dialects.dialect import NotVerified, lies_in
from eagle3_contracts.dialects.rule import Ids
from eagle3_contracts.dialects.table import find_tool

KEY = "eagle_aux_hidden_state_layer_ids"
CARRIERS: tuple[tuple[str, ...], ...] = (
    (KEY,),
    ("eagle_config", KEY),
    ("eagle_config", "layer_ids"),
    ("dflash_config", "target_layer_ids"),
    ("dflash_config", "layer_ids"),
    ("dspark_target_layer_ids",),
    ("target_layer_ids",),
    ("aux_hidden_states_layer_ids",),
)
"""Every place in which some tool keeps layer ids; what stands in one that is not read is reported."""


@dataclass(frozen=True, slots=True)
class Key:
    """One place that an engine looks in: the path, and what it adds to each id found there."""

    path: tuple[str, ...]
    added: int = 0


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """The places in which one engine and runner looks, for a range of versions.

    ``first``: in order, the first list that is not empty wins. ``tables``: after them, the last table that
    is not empty wins, even if it holds no ids (vLLM's V1 runner lets an ``eagle_config`` undo a ``dflash_config``).
    ``keeps_empty``: an empty list is passed on as such (SGLang), not taken for an absent one.
    """

    engine: str
    runner: str
    versions: str
    first: tuple[Key, ...] = ()
    tables: tuple[Key, ...] = ()
    keeps_empty: bool = False


@dataclass(frozen=True, slots=True)
class KeyReading:
    """What an engine makes of a config.

    ``ids``: as the engine passes them on, None if it falls back to its default. ``key``: where they came
    from, None if nowhere. ``ignored``: key and value of every other place that holds ids. ``wrong``: what stands there
    if that is no list of whole numbers, on which engines stop; ``ids`` are then no integers either.
    """

    ids: Ids | None
    key: str | None
    ignored: tuple[tuple[str, Any], ...] = ()
    wrong: str = ""


_TOP, _NESTED = Key((KEY,)), Key(("eagle_config", KEY))
_DFLASH = Key(("dflash_config", "target_layer_ids"), added=1)
_DSPARK = (Key(("dspark_target_layer_ids",), added=1), Key(("target_layer_ids",), added=1))
_LAYER_IDS = (Key(("dflash_config", "layer_ids")), Key(("eagle_config", "layer_ids")))

KEY_ORDERS: tuple[KeyOrder, ...] = (
    KeyOrder("sglang", "", ">=0.5.9,<0.5.24", tables=(_NESTED,), keeps_empty=True),
    KeyOrder("vllm", "v1", ">=0.22,<0.34", first=(_TOP,), tables=(_DFLASH, _NESTED)),
    KeyOrder("vllm", "v2", ">=0.22,<0.24", first=(_TOP,)),
    KeyOrder("vllm", "v2", ">=0.24,<0.25", first=(_TOP, _DFLASH)),
    KeyOrder("vllm", "v2", ">=0.25,<0.27", first=(_TOP, _DFLASH, *_DSPARK)),
    KeyOrder("vllm", "v2", ">=0.27,<0.34", first=(_TOP, _DFLASH, *_DSPARK, *_LAYER_IDS)),
    KeyOrder("specforge", "", ">=0.2,<0.3", tables=(_NESTED,), keeps_empty=True),
    KeyOrder("tensorrt-llm", "", ">=1.0,<1.3"),
)
DEFAULT_RUNNER = {"vllm": "v1"}


def read_ids(engine: str, version: str, config: Mapping[str, Any], *, runner: str = "") -> KeyReading | NotVerified:
    """Read the ids from a draft's config as an engine's version does.

    ``runner``: vLLM has two, ``v1`` and ``v2`` (absent: v1). Raises ``KeyError`` for an engine or runner
    that has no entry; a version outside the range read gives ``NotVerified``.
    """
    wanted = runner or DEFAULT_RUNNER.get(engine, "")
    orders = [order for order in KEY_ORDERS if order.engine == engine and order.runner == wanted]
    if not orders:
        known = ", ".join(sorted({f"{order.engine} {order.runner}".strip() for order in KEY_ORDERS}))
        raise KeyError(f"no key order for {engine} {wanted}".rstrip() + f"; there are {known}")
    for order in orders:
        if lies_in(version, order.versions):
            return _read(order, config)
    last = find_tool(engine).last_read
    return NotVerified(engine, version, "any", last, "the keys it reads were not looked up")


def _read(order: KeyOrder, config: Mapping[str, Any]) -> KeyReading:
    for place in order.first:
        ids = _ids_at(config, place)
        if ids:
            return _reading(config, place, ids)
    present = [place for place in order.tables if _is_table(config.get(place.path[0]))]
    if present:
        ids = _ids_at(config, present[-1])
        if ids or (ids is not None and order.keeps_empty):
            return _reading(config, present[-1], ids)
    return KeyReading(None, None, _passed_over(config, None))


def _reading(config: Mapping[str, Any], place: Key, ids: Ids) -> KeyReading:
    key = ".".join(place.path)
    whole = all(type(item) is int for item in ids)
    value = _look_up(config, place.path)
    wrong = "" if whole else f"{key} is {str(value)[:60]}, no list of whole numbers"
    return KeyReading(ids, key, _passed_over(config, key), wrong)


def _ids_at(config: Mapping[str, Any], place: Key) -> tuple[Any, ...] | None:
    """Give what stands in one place for ids, whole numbers if they are ids; None if nothing does."""
    value = _look_up(config, place.path)
    if isinstance(value, list | tuple):
        return tuple(item + place.added if type(item) is int else item for item in value)
    return (str(value),) if value else None


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _look_up(config: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Give what stands in one place; None where nothing does, as where null does."""
    value: Any = config
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _passed_over(config: Mapping[str, Any], used: str | None) -> tuple[tuple[str, Any], ...]:
    found = ((".".join(path), _look_up(config, path)) for path in CARRIERS)
    return tuple((name, value) for name, value in found if value is not None and name != used)
