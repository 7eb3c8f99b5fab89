"""The whole document, and what must agree between its tables."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Literal, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import Field, model_validator

from eagle3_contracts.contract.base import Count, Dtype, Name, Table, Text
from eagle3_contracts.contract.drafter import Drafter
from eagle3_contracts.contract.planes import Plane
from eagle3_contracts.contract.target import Target

Order = Annotated[tuple[Name, ...], Field(min_length=1)]
Offsets = Annotated[tuple[int, ...], Field(min_length=1)]


class Storage(Table):
    """What lies on disk, in order.

    ``formats`` states another list for a format that cannot hold ``planes`` as they are (SpecForge and
    AngelSlim keep a post-norm final state where speculators keeps a pre-norm one). Formats that hold
    auxiliary planes and a last state apart are read as the auxiliary planes followed by the last state.
    """

    planes: Order
    formats: dict[str, Order] = Field(default_factory=dict)
    dtype: Dtype | None = Field(default=None, description="absent: the target's")


class Alignment(Table):
    """Accepted offsets of what stands beside hidden state t (0: of token t, 1: of token t + 1)."""

    token: Offsets = (1,)
    target: Offsets = (1,)
    loss_mask: Offsets = (0, 1)
    position: Offsets = (0, 1)


class Serving(Table):
    """Where the drafter is served: version ranges by engine, and the least draft tokens that make sense."""

    engines: dict[str, str]
    min_draft_tokens: Annotated[int, Field(ge=2)] = 2
    context_length: Count | None = None

    @model_validator(mode="after")
    def _check_ranges(self) -> Self:
        for engine, versions in self.engines.items():
            try:
                SpecifierSet(versions)
            except InvalidSpecifier:
                raise ValueError(
                    f"{engine}: {versions!r} is no version range; write it like >=0.5.20,<0.5.24"
                ) from None
        return self


class Tolerance(Table):
    """What a correct artifact of one dtype may differ by, with the measurement it comes from.

    ``relative_l2_median``: median over tokens of |x - r| / |r|. ``logprob_max``: the largest difference of
    log-probability over the reference's top 10 tokens.
    """

    relative_l2_median: float = Field(gt=0, lt=1)
    logprob_max: float = Field(gt=0)
    origin: Text


class Contract(Table):
    """One version of one contract. See ``load_contract`` for reading, ``resolve_contract`` for names."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    version: Annotated[str, Field(pattern=r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")]
    summary: Text
    sources: tuple[str, ...] = ()
    target: Target
    planes: Annotated[tuple[Plane, ...], Field(min_length=1)]
    storage: Storage
    drafter: Drafter
    alignment: Alignment = Alignment()
    serving: Serving | None = None
    tolerance: dict[Dtype, Tolerance] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_agreement(self) -> Self:
        rules: tuple[Callable[[Contract], Iterator[str]], ...] = (_name_defects, _boundary_defects, _drafter_defects)
        defects = [defect for rule in rules for defect in rule(self)]
        if defects:
            raise ValueError("; ".join(defects))
        return self

    @property
    def reference(self) -> str:
        """Give the name that resolves to this version: ``NAME@VERSION``."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Give the sha256 of the document's meaning: equal for files that differ in layout or comments only."""
        meaning = self.model_dump(mode="json", by_alias=True)
        return hashlib.sha256(json.dumps(meaning, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def plane(self, name: str) -> Plane:
        """Give the plane of that name; ``KeyError`` names the planes there are."""
        for plane in self.planes:
            if plane.name == name:
                return plane
        raise KeyError(f"no plane {name!r}; the contract declares {', '.join(p.name for p in self.planes)}")

    def select(self, names: tuple[str, ...]) -> tuple[Plane, ...]:
        """Give the planes of those names, in that order."""
        return tuple(self.plane(name) for name in names)

    def stored_planes(self, dataset_format: str | None = None) -> tuple[Plane, ...]:
        """Give the planes on disk, in order, for a dataset format (``storage.formats``, else ``storage.planes``)."""
        return self.select(self.storage.formats.get(dataset_format or "", self.storage.planes))

    def tolerance_for(self, dtype: str) -> Tolerance | None:
        """Give the tolerance declared for a dtype, or None: no default stands in for a number nobody measured."""
        return self.tolerance.get(dtype)


def _name_defects(contract: Contract) -> Iterator[str]:
    """A plane named twice, or a list that names a plane that is not declared or names one twice."""
    counts = Counter(plane.name for plane in contract.planes)
    yield from (f"planes: {name!r} is declared {count} times" for name, count in counts.items() if count > 1)
    if "none" in counts:
        yield "planes: 'none' is no plane name, it is the word for no last hidden state"
    lists = {"storage.planes": contract.storage.planes, "drafter.input": contract.drafter.input}
    lists |= {f"storage.formats.{key}": order for key, order in contract.storage.formats.items()}
    if contract.drafter.last_hidden != "none":
        lists["drafter.last_hidden"] = (contract.drafter.last_hidden,)
    known = ", ".join(counts)
    for place, order in lists.items():
        yield from (f"{place}: no plane {name!r}; declared are {known}" for name in order if name not in counts)
        yield from (f"{place}: {name!r} stands {count} times" for name, count in Counter(order).items() if count > 1)


def _boundary_defects(contract: Contract) -> Iterator[str]:
    """A boundary outside 0..n, a final state that does not say pre_norm or post_norm, one state under two names."""
    layers = contract.target.num_hidden_layers
    for plane in contract.planes:
        if plane.boundary > layers:
            yield f"planes.{plane.name}: boundary {plane.boundary}, but the target has boundaries 0..{layers}"
        elif plane.boundary == layers and not plane.is_final:
            yield f"planes.{plane.name}: boundary {layers} is the final state; state must be pre_norm or post_norm"
        elif plane.boundary < layers and plane.is_final:
            yield f"planes.{plane.name}: state {plane.state} is for boundary {layers} only, not for {plane.boundary}"
    places: dict[tuple[int, str], str] = {}
    for plane in contract.planes:
        key = (plane.boundary, plane.state)
        if key in places:
            yield f"planes.{plane.name}: the same boundary and state as {places[key]!r}"
        places.setdefault(key, plane.name)


def _drafter_defects(contract: Contract) -> Iterator[str]:
    """A draft vocabulary or a d2t that cannot be, or an fc left out where widths differ."""
    drafter, target = contract.drafter, contract.target
    own, width = drafter.hidden_size, len(drafter.input) * target.hidden_size
    if drafter.draft_vocab_size > target.vocab_size:
        yield f"drafter.draft_vocab_size: {drafter.draft_vocab_size} is more than the target's {target.vocab_size}"
    if drafter.draft_vocab_size < target.vocab_size and drafter.d2t == "none":
        yield "drafter.d2t: none, but the draft vocabulary is smaller than the target's; say offset or absolute"
    if drafter.draft_vocab_size < target.vocab_size and drafter.lm_head == "target":
        yield "drafter.lm_head: target, but the draft vocabulary is smaller than the target's"
    if drafter.embedding == "target" and own != target.hidden_size:
        yield f"drafter.embedding: target, but its width {target.hidden_size} is not the drafter's {own}"
    if not drafter.fc.present and width != own:
        yield f"drafter.fc: absent, but {len(drafter.input)} planes are {width} wide and the drafter {own}"
