"""The whole document: one version of one contract."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, Field, model_validator

from eagle3_contracts.contract.agreement import Parts, find_disagreements
from eagle3_contracts.contract.base import ContractName, Count, EngineName, SemanticVersion, Table, Text
from eagle3_contracts.contract.defects import Defect, TableError
from eagle3_contracts.contract.drafter import Drafter
from eagle3_contracts.contract.formats import Dtype
from eagle3_contracts.contract.planes import Plane
from eagle3_contracts.contract.storage import Storage
from eagle3_contracts.contract.target import Target


def _sort_offsets(offsets: tuple[int, ...]) -> tuple[int, ...]:
    """Put accepted offsets in order, each once: a set has one spelling, and so one digest."""
    return tuple(sorted(set(offsets)))


Offsets = Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(_sort_offsets)]


def _check_range(versions: str) -> str:
    try:
        SpecifierSet(versions)
    except InvalidSpecifier:
        raise TableError((Defect("", repr(versions), "a version range, such as >=0.5.20,<0.5.24"),)) from None
    return versions


VersionRange = Annotated[str, AfterValidator(_check_range)]


class Alignment(Table):
    """Accepted offsets of what stands beside hidden state t (0: of token t, 1: of token t + 1).

    Several values where trainers differ and it does no harm: SpecForge, EAGLE and AngelSlim mask row t by
    l[t], speculators and ModelOpt by l[t + 1]; speculators counts positions from 1. Offsets are those of
    step 0; step k shifts tokens, targets and mask by k more.
    """

    token: Offsets = Field(default=(1,), description="the token embedded in row t is x[t + offset]")
    target: Offsets = Field(default=(1,), description="the state that row t's target comes from is y[t + offset]")
    loss_mask: Offsets = Field(default=(0, 1), description="the mask of row t is l[t + offset]")
    position: Offsets = Field(default=(0, 1), description="the rotary position of row t is t + offset")


class Serving(Table):
    """Where the drafter is served: version ranges by engine, and the least draft tokens that make sense.

    ``min_draft_tokens`` guards against flags that limit a draft in silence: SGLang rewrites
    num_draft_tokens to num_steps + 1 when topk is 1 (arg_groups/speculative_hook.py).
    """

    engines: dict[EngineName, VersionRange] = Field(
        description='version range by engine, such as sglang = ">=0.5.20,<0.5.24"'
    )
    min_draft_tokens: Annotated[int, Field(ge=2)] = Field(default=2, description="draft tokens after all flags")
    context_length: Count | None = Field(default=None, description="the longest context that is served")


class Tolerance(Table):
    """What a correct artifact of one dtype may differ by, with the measurement it comes from.

    ``relative_l2_median``: median over tokens of |x - r| / |r|, sinks excluded. ``logprob_max``: the largest
    difference of log-probability over the reference's top 10 tokens.
    """

    relative_l2_median: float = Field(gt=0, lt=1, description="median over tokens of |x - r| / |r|")
    logprob_max: float = Field(gt=0, description="largest |difference of logprob|, top 10, median over tokens")
    origin: Text = Field(description="what was measured, on what, with which dtype, and what was only chosen")


class Contract(Table):
    """One version of one contract. See ``load_contract`` for reading, ``resolve_contract`` for names."""

    schema_version: Literal[1] = Field(alias="schema", description="the format of this document")
    name: ContractName = Field(description="the contract's name, the folder in the catalog")
    version: SemanticVersion = Field(description="major: any change of what a correct artifact contains")
    summary: Text = Field(description="one sentence: what this version is")
    sources: tuple[Text, ...] = Field(default=(), description="where the figures come from")
    target: Target
    planes: Annotated[tuple[Plane, ...], Field(min_length=1)]
    storage: Storage
    drafter: Drafter
    alignment: Alignment = Alignment()
    serving: Serving | None = Field(default=None, description="absent: no engine is promised")
    tolerance: dict[Dtype, Tolerance] = Field(default_factory=dict, description="by dtype, of store or computation")

    @model_validator(mode="after")
    def _check_agreement(self) -> Self:
        defects = find_disagreements(
            Parts(
                layers=self.target.num_hidden_layers,
                hidden_size=self.target.hidden_size,
                vocab_size=self.target.vocab_size,
                planes=self.planes,
                names=tuple(plane.name for plane in self.planes),
                storage=self.storage,
                drafter=self.drafter,
            )
        )
        if defects:
            raise TableError(defects)
        return self

    @property
    def reference(self) -> str:
        """Give the name that resolves to this version: ``NAME@VERSION``."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Give the sha256 of what the document says: equal for files that differ in layout or comments only.

        What equals its default is left out, so a document says the same whether it writes a default or
        not, and keeps its digest when a later program knows more optional keys. That holds because a
        default never changes within schema 1 (``contract/schema.py``, ``find_breaks``).
        """
        said = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

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
        return self.select(self.storage.order_for(dataset_format))

    def stored_dtype(self, dataset_format: str | None = None) -> Dtype:
        """Give the dtype of the states on disk, for a dataset format."""
        return self.storage.dtype_for(dataset_format) or self.target.dtype

    def input_planes(self) -> tuple[Plane, ...]:
        """Give the planes that are fed to fc, in the order of concatenation."""
        return self.select(self.drafter.input)

    def last_hidden_plane(self) -> Plane | None:
        """Give the plane that training targets are computed from, or None."""
        return None if self.drafter.last_hidden == "none" else self.plane(self.drafter.last_hidden)

    def norms_last_hidden(self) -> bool:
        """Tell whether the final norm stands between ``last_hidden`` and the target's head."""
        plane = self.last_hidden_plane()
        told = self.drafter.last_hidden_norm
        return plane is not None and (plane.state != "post_norm" if told is None else told)

    def tolerance_for(self, dtype: str) -> Tolerance | None:
        """Give the tolerance declared for a dtype, or None: no default stands in for a number nobody measured."""
        return next((bounds for known, bounds in self.tolerance.items() if known == dtype), None)
