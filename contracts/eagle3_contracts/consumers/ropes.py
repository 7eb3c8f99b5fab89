"""Rotary parameters as a config states them, in transformers' old layout and its new one, and as a contract does.

Old (transformers 4): ``rope_theta`` and ``rope_scaling``; new (5): ``rope_parameters`` with both inside. Transformers 5
takes a ``rope_scaling`` that is not empty before ``rope_parameters``, and a base inside the table before the one beside
it (5.19.0, modeling_rope_utils.py). Two readings are equal exactly if they give the same inverse frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.consumers.consumer import RopeLayout
from eagle3_contracts.contract import Contract

DEFAULT_THETA = 10000.0
"""What Llama's config and every engine fall back to."""

_NAMES = {
    "factor": "factor",
    "original_max_position_embeddings": "original_max_position",
    "low_freq_factor": "low_freq_factor",
    "high_freq_factor": "high_freq_factor",
    "short_factor": "short_factor",
    "long_factor": "long_factor",
    "beta_fast": "beta_fast",
    "beta_slow": "beta_slow",
    "mscale": "mscale",
    "mscale_all_dim": "mscale_all_dim",
    "attention_factor": "attention_factor",
    "truncate": "truncate",
    "mrope_section": "mrope_section",
    "mrope_interleaved": "mrope_interleaved",
}
"""transformers' names to the contract's."""

_DEFAULTS: dict[str, dict[str, Any]] = {"yarn": {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}}
_SPELLINGS = {"su": "longrope", "mrope": "default"}


@dataclass(frozen=True, slots=True)
class RopeReading:
    """Rotary positions as something computes them. ``parameters``: of the scaling, defaults filled in."""

    theta: float
    type: str
    layout: str = "half"
    partial_factor: float = 1.0
    parameters: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """Say it in one line: ``theta 50000, yarn (factor 32), half``."""
        told = ", ".join(f"{name} {_tell(value)}" for name, value in self.parameters)
        partial = f", {self.partial_factor:g} of the channels" if self.partial_factor != 1 else ""
        return f"theta {self.theta:g}, {self.type}{f' ({told})' if told else ''}, {self.layout}{partial}"

    def differs(self, other: RopeReading) -> tuple[str, ...]:
        """Name what differs; empty if both rotate alike."""
        mine, theirs = self._facts(), other._facts()
        names = dict.fromkeys((*mine, *theirs))
        return tuple(name for name in names if not _equal(mine.get(name), theirs.get(name)))

    def _facts(self) -> dict[str, Any]:
        facts = {"theta": self.theta, "type": self.type, "layout": self.layout, "partial_factor": self.partial_factor}
        return {**facts, **dict(self.parameters)}


def read_rope(table: Mapping[str, Any], layout: RopeLayout = "v5", channels: str = "half") -> RopeReading:
    """Read the rotary parameters of a config's table. ``layout``: which of the two is understood."""
    scaling, theta = table.get("rope_scaling"), table.get("rope_theta")
    stated: Mapping[str, Any] = scaling if isinstance(scaling, Mapping) else {}
    if layout == "v5":
        parameters = table.get("rope_parameters")
        stated = stated or (parameters if isinstance(parameters, Mapping) else {})
        theta = stated.get("rope_theta", theta)
    partial = stated.get("partial_rotary_factor", table.get("partial_rotary_factor"))
    kind = str(stated.get("rope_type", stated.get("type", "default")))
    original = table.get("original_max_position_embeddings")
    if original is not None:
        stated = {**stated, "original_max_position_embeddings": original}
    return RopeReading(
        theta=_number(theta, DEFAULT_THETA),
        type=_SPELLINGS.get(kind, kind),
        layout=channels,
        partial_factor=_number(partial, 1.0),
        parameters=_complete(_SPELLINGS.get(kind, kind), {_NAMES[key]: stated[key] for key in _NAMES if key in stated}),
    )


def rope_of_contract(contract: Contract) -> RopeReading:
    """Give the rotary parameters that the contract declares, in the same form."""
    rope = contract.drafter.rope
    given = {name: getattr(rope, name) for name in _NAMES.values() if getattr(rope, name)}
    return RopeReading(rope.theta, rope.type, rope.layout, rope.partial_factor, _complete(rope.type, given))


def slowest_frequency(rope: RopeReading, channels: int) -> float:
    """Give the plain inverse frequency of the slowest pair, by base and rotated channels alone."""
    turning = max(2, int(channels * rope.partial_factor))
    return float(rope.theta ** -((turning - 2) / turning))


def _complete(kind: str, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Fill in defaults of the kind, drop what it does not use, and sort by name."""
    known = {name: value for name, value in given.items() if value is not None and value is not False}
    if kind == "default":
        known = {name: value for name, value in known.items() if name.startswith("mrope")}
    if kind in {"linear", "dynamic"}:
        known.pop("truncate", None)
    if given.get("truncate") is False and kind == "yarn":
        known["truncate"] = False
    complete = {**_DEFAULTS.get(kind, {}), **known}
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in sorted(complete.items()))


def _number(value: Any, default: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return len(mine) == len(theirs) and all(map(_equal, mine, theirs))
    if isinstance(mine, int | float) and isinstance(theirs, int | float) and not isinstance(mine, bool):
        return math.isclose(mine, theirs, rel_tol=1e-6)
    return bool(mine == theirs)


def _tell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
