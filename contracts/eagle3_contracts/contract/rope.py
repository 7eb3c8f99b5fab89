"""Rotary positions, with the parameters that each kind of scaling takes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eagle3_contracts.contract.base import Count, Table
from eagle3_contracts.contract.defects import Defect, TableError

Factor = Annotated[float, Field(gt=0)]

_REQUIRED: dict[str, frozenset[str]] = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor"}),
    "yarn": frozenset({"factor", "original_max_position"}),
    "llama3": frozenset({"factor", "original_max_position", "low_freq_factor", "high_freq_factor"}),
    "longrope": frozenset({"original_max_position", "short_factor", "long_factor"}),
}
_OPTIONAL: dict[str, frozenset[str]] = {
    "dynamic": frozenset({"original_max_position"}),
    "yarn": frozenset({"beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor", "truncate"}),
    "longrope": frozenset({"factor", "attention_factor"}),
}
SCALING_OF = {kind: required | _OPTIONAL.get(kind, frozenset()) for kind, required in _REQUIRED.items()}
"""The parameters that each kind of scaling takes."""

_SCALING = frozenset().union(*_REQUIRED.values(), *_OPTIONAL.values())


class Rope(Table):
    """Rotary positions as the drafter was trained with, not as a config claims.

    A config may be wrong about its own drafter: SpecForge 0.1.0 trained with base 10000 whatever
    ``rope_theta`` said (SpecForge issue #265). ``layout``: ``half`` pairs channel i with i + d/2 (NeoX),
    ``interleaved`` pairs 2i with 2i + 1 (Llama 4; TensorRT-LLM PR #19036). Parameters of a scaled ``type``
    are written out; names are those of transformers' rope_parameters. ``mrope_section`` splits the channels
    among time, height and width (Qwen-VL drafters of AngelSlim and SpecForge).
    """

    theta: Factor = Field(description="the base that inverse frequencies are computed from")
    layout: Literal["half", "interleaved"] = Field(default="half", description="which channels are paired")
    type: Literal["default", "linear", "dynamic", "yarn", "llama3", "longrope"] = Field(
        default="default", description="kind of scaling"
    )
    factor: Factor | None = None
    original_max_position: Count | None = None
    low_freq_factor: Factor | None = None
    high_freq_factor: Factor | None = None
    short_factor: Annotated[tuple[Factor, ...], Field(min_length=1)] | None = None
    long_factor: Annotated[tuple[Factor, ...], Field(min_length=1)] | None = None
    beta_fast: Factor | None = None
    beta_slow: Factor | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    attention_factor: Factor | None = None
    truncate: bool | None = Field(default=None, description="yarn: round the correction range to whole channels")
    partial_factor: float = Field(default=1.0, gt=0, le=1, description="share of the head's channels that rotate")
    mrope_section: Annotated[tuple[Count, ...], Field(min_length=2)] | None = None
    mrope_interleaved: bool = Field(default=False, description="sections alternate instead of following each other")

    @model_validator(mode="after")
    def _check_scaling(self) -> Self:
        given = {name for name in _SCALING if getattr(self, name) is not None}
        required = _REQUIRED[self.type]
        missing = sorted(required - given)
        foreign = sorted(given - required - _OPTIONAL.get(self.type, frozenset()))
        kind = f"since type is {self.type}"
        defects = [Defect(name, "nothing", f"a value, {kind}") for name in missing]
        defects += [Defect(name, repr(getattr(self, name)), f"nothing, {kind}") for name in foreign]
        if self.mrope_interleaved and self.mrope_section is None:
            defects.append(Defect("mrope_section", "nothing", "the sections that mrope_interleaved speaks of"))
        if defects:
            raise TableError(tuple(defects))
        return self
