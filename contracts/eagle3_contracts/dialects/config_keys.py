"""Which key of a draft's config.json each engine reads its ids from, and which it passes over.

The same ids in the wrong place are ignored without a word, and the engine falls back to its default. Read in
SGLang 0.5.9 to 0.5.23 (model_runner.py; spec_aux_hidden_state.py since 0.5.16), vLLM 0.22 to 0.33
(gpu_model_runner.py, gpu/spec_decode/eagle/eagle3_utils.py), SpecForge 0.2.0 (model_providers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet

from eagle3_contracts.dialects.dialect import NotVerified
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
    """One place that an engine looks in: the path, what it adds to each id, and when it stops looking.

    ``falsy_counts``: an empty list or null found here ends the search (SGLang: ``[]`` is a list of nothing).
    ``overrides``: it replaces what was found before whenever its table exists, even by null (vLLM's V1 runner).
    """

    path: tuple[str, ...]
    added: int = 0
    falsy_counts: bool = False
    overrides: bool = False


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """The places in which one engine and runner looks, in order, for a range of versions."""

    engine: str
    runner: str
    versions: str
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class KeyReading:
    """What an engine makes of a config.

    ``ids``: as the engine passes them on, None if it falls back to its default. ``key``: where they came
    from, None if nowhere. ``ignored``: key and value of every other place that holds ids.
    """

    ids: Ids | None
    key: str | None
    ignored: tuple[tuple[str, Any], ...] = ()


_TOP, _NESTED = Key((KEY,)), ("eagle_config", KEY)
_DFLASH = Key(("dflash_config", "target_layer_ids"), added=1)
_DSPARK = (Key(("dspark_target_layer_ids",), added=1), Key(("target_layer_ids",), added=1))
_LAYER_IDS = (Key(("dflash_config", "layer_ids")), Key(("eagle_config", "layer_ids")))

KEY_ORDERS: tuple[KeyOrder, ...] = (
    KeyOrder("sglang", "", ">=0.5.9,<0.5.24", (Key(_NESTED, falsy_counts=True),)),
    KeyOrder("vllm", "v1", ">=0.22,<0.34", (_TOP, _DFLASH, Key(_NESTED, overrides=True))),
    KeyOrder("vllm", "v2", ">=0.22,<0.24", (_TOP,)),
    KeyOrder("vllm", "v2", ">=0.24,<0.25", (_TOP, _DFLASH)),
    KeyOrder("vllm", "v2", ">=0.25,<0.27", (_TOP, _DFLASH, *_DSPARK)),
    KeyOrder("vllm", "v2", ">=0.27,<0.34", (_TOP, _DFLASH, *_DSPARK, *_LAYER_IDS)),
    KeyOrder("specforge", "", ">=0.2,<0.3", (Key(_NESTED, falsy_counts=True),)),
    KeyOrder("tensorrt-llm", "", ">=1.0,<1.3", ()),
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
        if SpecifierSet(order.versions).contains(version, prereleases=True):
            return _read(order, config)
    last = find_tool(engine).last_read
    return NotVerified(engine, version, "any", last, "the keys it reads were not looked up")


def _read(order: KeyOrder, config: Mapping[str, Any]) -> KeyReading:
    found, key = None, None
    for place in order.keys:
        if found and not place.overrides:
            break
        if found and key == KEY:
            break
        present, value = _look_up(config, place.path)
        if place.overrides and not present and isinstance(config.get(place.path[0]), Mapping):
            found, key = None, None
        elif present and (value or place.falsy_counts or place.overrides):
            found, key = value, ".".join(place.path)
            found = [item + place.added for item in value] if _is_list(value) else value
            if place.falsy_counts:
                break
    ids = tuple(found) if _is_list(found) and (found or any(place.falsy_counts for place in order.keys)) else None
    used = key if ids is not None else None
    return KeyReading(ids, used, _passed_over(config, used))


def _look_up(config: Mapping[str, Any], path: tuple[str, ...]) -> tuple[bool, Any]:
    value: Any = config
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = value[part]
    return True, value


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _passed_over(config: Mapping[str, Any], used: str | None) -> tuple[tuple[str, Any], ...]:
    found = ((".".join(path), _look_up(config, path)) for path in CARRIERS)
    return tuple((name, value) for name, (present, value) in found if present and value is not None and name != used)
