"""What must agree between the tables of a document: contradictions that no artifact could satisfy.

Looser than that is no error but a clause (``contract.*``): a document may state a wiring that was a mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eagle3_contracts.contract.defects import Defect
from eagle3_contracts.contract.drafter import Drafter
from eagle3_contracts.contract.planes import Plane
from eagle3_contracts.contract.storage import Storage


@dataclass(frozen=True, slots=True)
class Parts:
    """The tables of a document as far as they could be read, so that one defect does not hide another.

    ``layers``, ``hidden_size``, ``vocab_size``: the target's. ``planes`` are those that are valid; ``names``
    those of all planes, or None if one has no readable name.
    """

    layers: int | None
    hidden_size: int | None
    vocab_size: int | None
    planes: tuple[Plane, ...]
    names: tuple[str, ...] | None
    storage: Storage | None
    drafter: Drafter | None


def find_disagreements(parts: Parts) -> tuple[Defect, ...]:
    """List every contradiction between the tables that are there."""
    rules: tuple[Callable[[Parts], Iterator[Defect]], ...] = (
        _check_names,
        _check_references,
        _check_boundaries,
        _check_twins,
        _check_vocabulary,
        _check_widths,
    )
    return tuple(defect for rule in rules for defect in rule(parts))


def _check_names(parts: Parts) -> Iterator[Defect]:
    """A plane named twice, or called none."""
    counts = Counter(parts.names or ())
    for name, count in counts.items():
        if count > 1:
            yield Defect(f"planes.{name}", f"{count} planes of that name", "one")
    if "none" in counts:
        yield Defect("planes.none", "a plane called none", "another name", "none means: no last hidden state")


def _check_references(parts: Parts) -> Iterator[Defect]:
    """A list that names a plane that is not declared, or names one twice."""
    if parts.names is None:
        return
    lists: dict[str, tuple[str, ...]] = {}
    if parts.storage is not None:
        lists["storage.planes"] = parts.storage.planes
        lists |= {f"storage.formats.{key}": order for key, order in parts.storage.formats.items()}
    if parts.drafter is not None:
        lists["drafter.input"] = parts.drafter.input
        if parts.drafter.last_hidden != "none":
            lists["drafter.last_hidden"] = (parts.drafter.last_hidden,)
    declared = "a declared plane: " + (", ".join(dict.fromkeys(parts.names)) or "there is none")
    for place, order in lists.items():
        for name, count in Counter(order).items():
            if name not in parts.names:
                yield Defect(place, repr(name), declared)
            if count > 1:
                yield Defect(place, f"{name!r} {count} times", "every plane once")


def _check_boundaries(parts: Parts) -> Iterator[Defect]:
    """A boundary outside 0..n, or a final state that does not say pre_norm or post_norm."""
    if parts.layers is None:
        return
    layers = parts.layers
    for plane in parts.planes:
        if plane.boundary > layers:
            yield Defect(f"planes.{plane.name}.boundary", str(plane.boundary), f"0 to {layers}, the target's layers")
        elif plane.boundary == layers and not plane.is_final:
            yield Defect(
                f"planes.{plane.name}.state",
                plane.state,
                f"pre_norm or post_norm, since boundary {layers} is the final state",
                "vLLM and speculators store it before the final norm, HF hidden_states[n] and SpecForge after it",
            )
        elif plane.boundary < layers and plane.is_final:
            yield Defect(
                f"planes.{plane.name}.state", plane.state, f"raw, since boundary {plane.boundary} is not {layers}"
            )


def _check_twins(parts: Parts) -> Iterator[Defect]:
    """One boundary in one state under two names."""
    first: dict[tuple[int, str], str] = {}
    for plane in parts.planes:
        key = (plane.boundary, plane.state)
        if key in first and first[key] != plane.name:
            yield Defect(
                f"planes.{plane.name}.boundary",
                f"{plane.boundary} {plane.state}, as {first[key]!r}",
                "another boundary or state",
            )
        first.setdefault(key, plane.name)


def _check_vocabulary(parts: Parts) -> Iterator[Defect]:
    """A draft vocabulary that cannot be, or a head or d2t that does not fit it."""
    if parts.vocab_size is None or parts.drafter is None:
        return
    drafter, whole = parts.drafter, parts.vocab_size
    own = drafter.draft_vocab_size
    if own > whole:
        yield Defect("drafter.draft_vocab_size", str(own), f"at most the target's vocab_size, {whole}")
    if own >= whole:
        return
    smaller = f"since draft_vocab_size {own} is less than vocab_size {whole}"
    if drafter.d2t == "none":
        yield Defect("drafter.d2t", "none", f"offset or absolute, {smaller}")
    if drafter.lm_head == "target":
        yield Defect("drafter.lm_head", "target", f"own or target_rows, {smaller}")
    if drafter.lm_head == "embedding":
        yield Defect("drafter.lm_head", "embedding", f"own or target_rows, {smaller}", "SpecForge issue #139")


def _check_widths(parts: Parts) -> Iterator[Defect]:
    """Rows or planes taken from the target at a width that is not the drafter's."""
    if parts.hidden_size is None or parts.drafter is None:
        return
    drafter, wide = parts.drafter, parts.hidden_size
    own = drafter.hidden_size
    differs = f"own, since the drafter is {own} wide and the target {wide}"
    if own != wide and drafter.embedding == "target":
        yield Defect("drafter.embedding", "target", differs)
    if own != wide and drafter.lm_head in {"target", "target_rows"}:
        yield Defect("drafter.lm_head", drafter.lm_head, differs)
    fed = len(drafter.input) * wide
    if not drafter.fc.present and fed != own:
        planes = f"{len(drafter.input)} plane" + ("s" if len(drafter.input) != 1 else "")
        yield Defect("drafter.fc.present", "false", f"true, since {planes} are {fed} wide and the drafter {own}")
