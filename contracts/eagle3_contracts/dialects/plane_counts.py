"""How wide each engine builds the drafter's fc, in planes: a second reading of the config, of other keys.

So a config can feed three planes into an fc for four (vLLM issue #54526), or take the width from a key that
the capture does not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.dialects.config_keys import KEY
from eagle3_contracts.dialects.dialect import NotVerified, lies_in
from eagle3_contracts.dialects.table import find_tool

DEFAULT_COUNT = 3


@dataclass(frozen=True, slots=True)
class PlaneCount:
    """The number of planes that fc takes, and the key it was read from (None: the default, 3)."""

    count: int
    key: str | None


@dataclass(frozen=True, slots=True)
class CountOrder:
    """Where one drafter class of an engine looks: keys of a number first, then of lists, in order.

    ``counts_empty``: an empty list makes an fc of no planes instead of the default.
    """

    engine: str
    drafter: str
    versions: str
    numbers: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]
    counts_empty: bool = False


_NESTED, _TOP = ("eagle_config", KEY), (KEY,)
COUNT_ORDERS: tuple[CountOrder, ...] = (
    CountOrder("sglang", "llama", ">=0.5.9,<0.5.12", (), ()),
    CountOrder("sglang", "llama", ">=0.5.12,<0.5.24", ("num_aux_hidden_states",), (_NESTED,)),
    CountOrder("sglang", "kimi", ">=0.5.12,<0.5.24", (), (_NESTED, _TOP), counts_empty=True),
    CountOrder("vllm", "llama", ">=0.22,<0.34", ("num_aux_hidden_states",), (_NESTED,)),
    CountOrder("vllm", "deepseek", ">=0.22,<0.34", ("num_aux_hidden_states",), (_NESTED,)),
    CountOrder("vllm", "qwen3", ">=0.24,<0.34", ("num_aux_layers", "num_aux_hidden_states"), (_TOP, _NESTED)),
)
"""``drafter`` is the module: sglang's llama_eagle3.py and kimi_k25_eagle3.py, vLLM's llama_, deepseek_ and
qwen3_eagle3.py."""


def read_plane_count(engine: str, version: str, drafter: str, config: Mapping[str, Any]) -> PlaneCount | NotVerified:
    """Read how many planes an engine's drafter class builds fc for.

    What is no number or list is passed over. Raises ``KeyError`` for an engine and class without an entry; a version
    that was not read gives ``NotVerified``.
    """
    orders = [order for order in COUNT_ORDERS if (order.engine, order.drafter) == (engine, drafter)]
    if not orders:
        known = ", ".join(sorted({f"{order.engine} {order.drafter}" for order in COUNT_ORDERS}))
        raise KeyError(f"no width of fc for {engine} {drafter}; there are {known}")
    for order in orders:
        if lies_in(version, order.versions):
            return _count(order, config)
    return NotVerified(engine, version, "any", find_tool(engine).last_read, "its width of fc was not looked up")


def _count(order: CountOrder, config: Mapping[str, Any]) -> PlaneCount:
    for key in order.numbers:
        if type(config.get(key)) is int:
            return PlaneCount(config[key], key)
    for path in order.lists:
        table = config.get(path[0]) if len(path) == 2 else config
        value = table.get(path[-1]) if isinstance(table, Mapping) else None
        if isinstance(value, list | tuple) and (value or order.counts_empty):
            return PlaneCount(len(value), ".".join(path))
    return PlaneCount(DEFAULT_COUNT, None)
