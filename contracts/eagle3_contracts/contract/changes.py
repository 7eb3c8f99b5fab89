"""The changes between two contracts, and how much each matters.

Breaking is any change of what a correct artifact contains, so that a dataset, drafter or launch that
conformed may not conform any more. A set of accepted values that grows is compatible, one that shrinks
breaks. Texts are editorial. What no rule speaks of is breaking, so that a new key errs on the safe side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.planes import Plane


class Kind(StrEnum):
    """How much a change matters."""

    BREAKING = "breaking"
    COMPATIBLE = "compatible"
    EDITORIAL = "editorial"


@dataclass(frozen=True, slots=True)
class Change:
    """One change: its place in the document, both values as JSON-ready values, its kind and the reason.

    ``old`` or ``new`` is None where the document says nothing.
    """

    place: str
    old: Any
    new: Any
    kind: Kind
    reason: str

    def __str__(self) -> str:
        """Give the change as one line."""
        return f"{self.kind}: {self.place}: {_show(self.old)} -> {_show(self.new)} ({self.reason})"

    def as_dict(self) -> dict[str, Any]:
        """Give the change as JSON-ready values."""
        return {"place": self.place, "old": self.old, "new": self.new, "kind": str(self.kind), "reason": self.reason}


Judgement = tuple[Kind, str]
Rule = Callable[[Any, Any], Judgement]


def list_changes(old: Contract, new: Contract) -> tuple[Change, ...]:
    """List every change but that of the version number; two contracts that say the same have none."""
    changes = [*_plane_changes(old, new), *_order_changes(old, new), *_value_changes(old, new)]
    if not changes and _said(old) != _said(new):
        changes.append(Change("document", None, None, Kind.EDITORIAL, "the same, said in other words"))
    return tuple(changes)


def _said(contract: Contract) -> dict[str, Any]:
    return contract.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"version"})


# --- planes and the lists that name them ---------------------------------------------------------------------


def _plane_changes(old: Contract, new: Contract) -> Iterator[Change]:
    """Pair planes by boundary and state, then by name; what is left came or went."""
    before = {_identity(plane): plane for plane in old.planes}
    after = {_identity(plane): plane for plane in new.planes}
    for key in (key for key in before if key in after):
        yield from _same_plane(before[key], after[key])
    gone = {plane.name: plane for key, plane in before.items() if key not in after}
    come = {plane.name: plane for key, plane in after.items() if key not in before}
    for name, plane in gone.items():
        place, reason = f"planes.{name}", "another boundary or state"
        replaced = come.pop(name, None)
        used = name in _named(old) | _named(new)
        kind = Kind.BREAKING if used else Kind.COMPATIBLE
        if replaced is None:
            kind, reason = Kind.COMPATIBLE, "the lists that named it say what changed"
        yield Change(place, _describe(plane), None if replaced is None else _describe(replaced), kind, reason)
    for name, plane in come.items():
        yield Change(f"planes.{name}", None, _describe(plane), Kind.COMPATIBLE, "the lists that name it say what for")


def _same_plane(before: Plane, after: Plane) -> Iterator[Change]:
    """Compare two planes at the same boundary in the same state."""
    if before.name != after.name:
        reason = "another name for the same boundary and state"
        yield Change(f"planes.{before.name}.name", before.name, after.name, Kind.COMPATIBLE, reason)
    place = f"planes.{after.name}.norm"
    old = None if before.norm is None else list(before.norm.median)
    new = None if after.norm is None else list(after.norm.median)
    if old != new:
        yield Change(f"{place}.median", old, new, *_judge_interval(old, new))
    if before.norm and after.norm and before.norm.origin != after.norm.origin:
        texts = before.norm.origin, after.norm.origin
        yield Change(f"{place}.origin", *texts, *_editorial(*texts))


def _order_changes(old: Contract, new: Contract) -> Iterator[Change]:
    """Compare the lists of planes by what the names stand for."""
    formats = sorted({*old.storage.formats, *new.storage.formats})
    orders: list[tuple[str, tuple[Plane, ...], tuple[Plane, ...], str]] = [
        ("storage.planes", old.stored_planes(), new.stored_planes(), "what lies on disk changes"),
        *(
            (f"storage.formats.{key}", old.stored_planes(key), new.stored_planes(key), "what lies on disk changes")
            for key in formats
        ),
        ("drafter.input", old.input_planes(), new.input_planes(), "what the drafter is fed changes"),
        ("drafter.last_hidden", _last(old), _last(new), "what training targets are computed from changes"),
    ]
    for place, before, after, reason in orders:
        if [_identity(plane) for plane in before] != [_identity(plane) for plane in after]:
            yield Change(place, _list(before), _list(after), Kind.BREAKING, reason)


def _last(contract: Contract) -> tuple[Plane, ...]:
    plane = contract.last_hidden_plane()
    return () if plane is None else (plane,)


def _identity(plane: Plane) -> tuple[int, str]:
    return plane.boundary, plane.state


def _list(planes: tuple[Plane, ...]) -> list[str] | None:
    return [_describe(plane) for plane in planes] or None


def _describe(plane: Plane) -> str:
    return f"{plane.name} (boundary {plane.boundary}{'' if plane.state == 'raw' else f', {plane.state}'})"


def _named(contract: Contract) -> set[str]:
    """Name the planes that some list names."""
    lists = (contract.storage.planes, *contract.storage.formats.values(), contract.drafter.input)
    return {name for order in lists for name in order} | {contract.drafter.last_hidden}


# --- everything else -----------------------------------------------------------------------------------------


def _value_changes(old: Contract, new: Contract) -> Iterator[Change]:
    """Compare every other value, with what stands for the target's written out."""
    before, after = _meaning(old), _meaning(new)
    if old.last_hidden_plane() and new.last_hidden_plane():
        place = "drafter.last_hidden_norm"
        before[place], after[place] = old.norms_last_hidden(), new.norms_last_hidden()
    for key in sorted({*old.storage.dtypes, *new.storage.dtypes}):
        before[f"storage.dtypes.{key}"], after[f"storage.dtypes.{key}"] = old.stored_dtype(key), new.stored_dtype(key)
    first_served = old.serving is None
    for place in dict.fromkeys((*before, *after)):
        values = before.get(place), after.get(place)
        if values[0] == values[1]:
            continue
        kind, reason = _rule_for(place)(*values)
        if first_served and place.startswith("serving."):
            kind, reason = Kind.COMPATIBLE, "no engine was promised before"
        yield Change(place, *values, kind, reason)


def _meaning(contract: Contract) -> dict[str, Any]:
    """Flatten a contract into places and values, without planes and the lists that name them."""
    said = contract.model_dump(mode="json", by_alias=True, exclude={"schema_version", "version", "planes"})
    said["storage"] = {"dtype": contract.stored_dtype()}
    drafter = said["drafter"]
    del drafter["input"], drafter["last_hidden"], drafter["last_hidden_norm"]
    drafter["dtype"] = drafter["dtype"] or contract.target.dtype
    drafter["norm"] = drafter["norm"] or said["target"]["norm"]
    return dict(_flatten(said, ""))


def _flatten(table: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{place}{key}.")
        elif value is not None:
            yield f"{place}{key}", value


# --- rules ---------------------------------------------------------------------------------------------------


def _breaking(_old: Any, _new: Any) -> Judgement:
    return Kind.BREAKING, "a correct artifact contains something else"


def _editorial(_old: Any, _new: Any) -> Judgement:
    return Kind.EDITORIAL, "a text; no artifact depends on it"


def _judge_pin(old: Any, new: Any) -> Judgement:
    """None accepts anything."""
    if new is None:
        return Kind.COMPATIBLE, "accepts anything where it accepted one value"
    return Kind.BREAKING, "accepts one value" if old is None else "accepts another value"


def _judge_set(old: Any, new: Any) -> Judgement:
    if set(old) <= set(new):
        return Kind.COMPATIBLE, "accepts more"
    return Kind.BREAKING, "accepts less than before, or something else"


def _judge_interval(old: Any, new: Any) -> Judgement:
    """None accepts any number."""
    if new is None or (old is not None and new[0] <= old[0] and old[1] <= new[1]):
        return Kind.COMPATIBLE, "accepts more"
    return Kind.BREAKING, "accepts less than before, or something else"


def _judge_bound(old: Any, new: Any) -> Judgement:
    """No tolerance means that the clauses of that dtype cannot be decided, so one that is added accepts more."""
    if old is None:
        return Kind.COMPATIBLE, "decides what could not be checked before"
    if new is not None and new >= old:
        return Kind.COMPATIBLE, "accepts more"
    return Kind.BREAKING, "accepts less than before"


def _judge_minimum(old: Any, new: Any) -> Judgement:
    if new is None or (old is not None and new <= old):
        return Kind.COMPATIBLE, "accepts more"
    return Kind.BREAKING, "accepts less than before"


def _judge_limit(old: Any, new: Any) -> Judgement:
    """None is no limit."""
    if new is None or (old is not None and new >= old):
        return Kind.COMPATIBLE, "accepts more"
    return Kind.BREAKING, "accepts less than before"


def _judge_versions(old: Any, new: Any) -> Judgement:
    """An engine that is not named is not served."""
    if old is None:
        return Kind.COMPATIBLE, "serves another engine"
    if new is None:
        return Kind.BREAKING, "does not serve this engine any more"
    wide, narrow = SpecifierSet(new), SpecifierSet(old)
    if any(version in narrow and version not in wide for version in _probes(old, new)):
        return Kind.BREAKING, "serves fewer versions"
    if any(version in wide and version not in narrow for version in _probes(old, new)):
        return Kind.COMPATIBLE, "serves more versions"
    return Kind.EDITORIAL, "the same versions, said in other words"


def _probes(*ranges: str) -> Iterator[Version]:
    """Give a version at, just above and between all that the ranges speak of."""
    named = {found for text in ranges for found in re.findall(r"[0-9]+(?:\.[0-9]+)*", text)} | {"0"}
    for text in named:
        release = [int(part) for part in text.split(".")]
        for length in range(1, len(release) + 1):
            # The upper end of ==1.2.* and ~=1.2.3 is the next number at some length.
            upper = [*release[: length - 1], release[length - 1] + 1]
            yield from (Version(".".join(map(str, numbers))) for numbers in (release, [*release, 0, 1], upper))


_RULES: tuple[tuple[str, Rule], ...] = (
    (r"name|summary|sources|tolerance\.\w+\.origin", _editorial),
    (r"target\.(revision|weights_sha256|tokenizer\.\w+)", _judge_pin),
    (r"drafter\.(architecture|training_steps)", _judge_pin),
    (r"alignment\.\w+", _judge_set),
    (r"tolerance\.\w+\.(relative_l2_median|logprob_max)", _judge_bound),
    (r"serving\.engines\..+", _judge_versions),
    (r"serving\.min_draft_tokens", _judge_minimum),
    (r"serving\.context_length", _judge_limit),
)


def _rule_for(place: str) -> Rule:
    return next((rule for pattern, rule in _RULES if re.fullmatch(pattern, place)), _breaking)


def _show(value: Any) -> str:
    return "nothing" if value is None else str(value)
