"""Where a checkpoint says that its weights are quantised."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.datasets.walking import printable
from eagle3_contracts.subjects.targets.agreement import read_config

_KEYS = ("quantization_config", "compression_config")
_BESIDE = "hf_quant_config.json"
"""What ModelOpt writes beside config.json, and engines read where that says nothing."""
_METHODS = ("quant_method", "quant_algo", "method", "format")


def find_quantisation(root: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """Give the method by the place that states it; an empty table, or none, states nothing."""
    nested = config.get("transformer_layer_config")
    tables = {"": config, "transformer_layer_config.": nested if isinstance(nested, Mapping) else {}}
    found = {
        f"config.json: {prefix}{key}": _name_method(table[key])
        for prefix, table in tables.items()
        for key in _KEYS
        if table.get(key)
    }
    beside = root / _BESIDE
    if not beside.is_file():
        return found
    try:
        table = read_config(beside)
    except SubjectError:
        return {**found, _BESIDE: "unreadable"}
    method = _name_method(table.get("quantization", table)) if table else ""
    return {**found, _BESIDE: method} if method else found


def _name_method(stated: Any) -> str:
    """Name the method of a table; the first words of anything else."""
    if not isinstance(stated, Mapping):
        return printable(str(stated)[:40])
    return next((printable(str(stated[key])[:40]) for key in _METHODS if stated.get(key)), "method not named")
