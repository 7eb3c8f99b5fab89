"""The drafter: how it consumes the planes, and its own architecture."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eagle3_contracts.contract.base import Count, Name, Table, Text
from eagle3_contracts.contract.target import Norm


class GqaAttention(Table):
    """Grouped-query attention (``heads`` equal to ``kv_heads`` is plain multi-head attention)."""

    kind: Literal["gqa"]
    heads: Count
    kv_heads: Count
    head_dim: Count
    qk_norm: bool = False
    bias: bool = False
    sliding_window: Count | None = None
    sinks: bool = Field(default=False, description="learned attention sinks (gpt-oss)")

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads do not divide into {self.kv_heads} kv_heads")
        return self


class MlaAttention(Table):
    """Multi-head latent attention, as DeepSeek and Kimi drafters use it."""

    kind: Literal["mla"]
    heads: Count
    q_lora_rank: Count | None = None
    kv_lora_rank: Count
    qk_nope_head_dim: Count
    qk_rope_head_dim: Count
    v_head_dim: Count
    bias: bool = False


Attention = Annotated[GqaAttention | MlaAttention, Field(discriminator="kind")]


class FcInput(Table):
    """The projection of the concatenated planes.

    ``input_norm``: ``joint`` is one norm over the whole concatenation (``norm_before_fc``, tensor
    ``input_norm.weight``); ``per_plane`` is one norm for each plane (``fc_norm``, tensors
    ``fc_norm.{i}.weight``). ``present = false``: the drafter has no fc (one plane of the drafter's width).
    """

    present: bool = True
    bias: bool = False
    input_norm: Literal["none", "joint", "per_plane"] = "none"


class Rope(Table):
    """Rotary positions as the drafter was trained with, not as a config claims.

    ``layout``: ``half`` pairs channel i with i + d/2 (NeoX), ``interleaved`` pairs 2i with 2i + 1.
    Parameters of a scaled ``type`` are written out; names are those of transformers' rope_parameters.
    """

    theta: float = Field(gt=0)
    layout: Literal["half", "interleaved"] = "half"
    type: Literal["default", "linear", "dynamic", "yarn", "llama3", "longrope"] = "default"
    factor: float | None = Field(default=None, gt=0)
    original_max_position: Count | None = None
    low_freq_factor: float | None = None
    high_freq_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    partial_factor: float = Field(default=1.0, gt=0, le=1)

    @model_validator(mode="after")
    def _check_scaling(self) -> Self:
        if self.type == "default" and self.factor is not None:
            raise ValueError("type is default, which takes no factor; name the scaling type or drop the factor")
        if self.type != "default" and self.factor is None:
            raise ValueError(f"type {self.type} needs its factor")
        return self


class Drafter(Table):
    """The drafter's input and architecture.

    ``input``: plane names in the order of concatenation into fc. ``last_hidden``: the plane that training
    targets are computed from, or ``none``. ``recurrent``: what the next step gets, the layer's output
    before or after the drafter's own norm (``norm_output`` of speculators, vLLM and SGLang);
    ``head_norm``: that norm is applied before lm_head (``norm_output`` of SpecForge: the same word for
    another thing). ``residual``: what the first layer adds back, the state before or after hidden_norm
    (``norm_before_residual``).
    """

    architecture: Text | None = None
    input: Annotated[tuple[Name, ...], Field(min_length=1)]
    last_hidden: Name = "none"
    hidden_size: Count
    layers: Count = 1
    attention: Attention
    intermediate_size: Count
    activation: Text = "silu"
    draft_vocab_size: Count
    d2t: Literal["offset", "absolute", "none"]
    embedding: Literal["own", "target"]
    lm_head: Literal["own", "target"]
    fc: FcInput
    norm: Norm | None = Field(default=None, description="the drafter's own norms; absent: like the target's")
    residual: Literal["pre_norm", "post_norm"] = "pre_norm"
    recurrent: Literal["pre_norm", "post_norm"] = "pre_norm"
    head_norm: bool = True
    rope: Rope
    max_position: Count
