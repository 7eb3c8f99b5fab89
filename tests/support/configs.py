"""Draft configs that keep layer ids in every place a tool has used, alone and against each other."""

from __future__ import annotations

from itertools import product
from typing import Any

KEY = "eagle_aux_hidden_state_layer_ids"
MISSING = object()


def configs() -> list[dict[str, Any]]:
    """Give every combination of ids at top level, in eagle_config and in dflash_config, with empties and nulls."""
    tops = (MISSING, None, [], [1, 2, 3])
    eagles = (MISSING, {}, {KEY: None}, {KEY: []}, {KEY: [4, 5]}, {"layer_ids": [6]}, {KEY: [4], "layer_ids": [6]})
    dflashes = (MISSING, {}, {"target_layer_ids": [7, 8]}, {"target_layer_ids": [7], "layer_ids": [9]})
    others = ({}, {"dspark_target_layer_ids": [10, 11]}, {"target_layer_ids": [12]})
    return [_config(*choice) for choice in product(tops, eagles, dflashes, others)]


def _config(top: Any, eagle: Any, dflash: Any, other: dict[str, Any]) -> dict[str, Any]:
    named = {KEY: top, "eagle_config": eagle, "dflash_config": dflash, **other}
    return {key: value for key, value in named.items() if value is not MISSING}
