"""The drafter: how it consumes the planes, and its own architecture."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eagle3_contracts.contract.base import Count, Name, Table, Text
from eagle3_contracts.contract.defects import Defect, TableError
from eagle3_contracts.contract.formats import Dtype
from eagle3_contracts.contract.rope import Rope
from eagle3_contracts.contract.target import Norm


class GqaAttention(Table):
    """Grouped-query attention (``heads`` equal to ``kv_heads`` is plain multi-head attention)."""

    kind: Literal["gqa"]
    heads: Count
    kv_heads: Count
    head_dim: Count = Field(description="written out: heads x head_dim need not be hidden_size")
    qk_norm: bool = Field(default=False, description="a norm on queries and keys (Qwen3)")
    bias: bool = Field(default=False, description="attention_bias")
    sliding_window: Count | None = Field(default=None, description="tokens that attention reaches back")
    sinks: bool = Field(default=False, description="learned attention sinks (gpt-oss)")

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.heads % self.kv_heads:
            raise TableError((Defect("heads", str(self.heads), f"a multiple of kv_heads, {self.kv_heads}"),))
        return self


class MlaAttention(Table):
    """Multi-head latent attention, as DeepSeek and Kimi drafters use it."""

    kind: Literal["mla"]
    heads: Count
    q_lora_rank: Count | None = Field(default=None, description="absent: queries are not compressed")
    kv_lora_rank: Count
    qk_nope_head_dim: Count
    qk_rope_head_dim: Count
    v_head_dim: Count
    bias: bool = Field(default=False, description="attention_bias")


Attention = Annotated[GqaAttention | MlaAttention, Field(discriminator="kind")]


class FcInput(Table):
    """The projection of the concatenated planes.

    ``input_norm``: ``joint`` is one norm over the whole concatenation (``norm_before_fc``, tensor
    ``input_norm.weight``); ``per_plane`` is one norm for each plane (``fc_norm``, tensors
    ``fc_norm.{i}.weight``). ``present = false``: the drafter has no fc (one plane of the drafter's width).
    """

    present: bool = Field(default=True, description="false: planes reach the layer as they are")
    bias: bool = Field(default=False, description="fc.bias")
    input_norm: Literal["none", "joint", "per_plane"] = Field(
        default="none", description="joint: norm_before_fc, input_norm.weight; per_plane: fc_norm.{i}.weight"
    )

    @model_validator(mode="after")
    def _check_absence(self) -> Self:
        if not self.present and (self.bias or self.input_norm != "none"):
            raise TableError((Defect("present", "false", "true, since bias and input_norm belong to an fc"),))
        return self


class Drafter(Table):
    """The drafter's input and architecture.

    ``input``: plane names in the order of concatenation into fc. ``last_hidden``: the plane that training
    targets are computed from, or ``none`` (EAGLE's own code trains on logits). ``last_hidden_norm``: the
    target's final norm is applied to that plane before the target's head; absent, it is applied to every
    state but ``post_norm`` (speculators 0.3.0 left it out, PR #313).

    ``recurrent``: what the next step gets, the layer's output before or after the drafter's own norm
    (``norm_output`` of speculators, vLLM and SGLang); ``head_norm``: that norm is applied before lm_head
    (``norm_output`` of SpecForge: the same word for another thing). ``residual``: what the first layer adds
    back, the state before or after hidden_norm (``norm_before_residual``). ``hidden_norm = "chained"``: the
    state passes input_layernorm before hidden_norm, as in ModelOpt 0.43 to 0.47 (modeling_eagle.py:71-80).

    ``embedding = "target"``: the target's rows, stored or borrowed. ``lm_head``: ``own`` is trained (EAGLE,
    SpecForge, ModelOpt), ``target`` the target's whole head, ``target_rows`` the target's rows of the draft
    vocabulary, frozen (speculators 0.9), ``embedding`` the drafter's own embedding (tie_word_embeddings).
    """

    architecture: Text | None = Field(default=None, description="the class that the drafter's config.json names")
    dtype: Dtype | None = Field(default=None, description="of the drafter's weights; absent: the target's")
    input: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(description="planes, in order, into fc")
    last_hidden: Name = Field(default="none", description="plane that training targets are computed from, or none")
    last_hidden_norm: bool | None = Field(
        default=None, description="final norm on last_hidden before the head; absent: unless it is post_norm"
    )
    hidden_size: Count = Field(description="the drafter's width; need not be the target's")
    layers: Count = Field(default=1, description="decoder layers; the first one takes embedding and state")
    attention: Attention
    intermediate_size: Count
    activation: Text = Field(default="silu", description="of the MLP, as transformers' hidden_act")
    draft_vocab_size: Count = Field(description="rows of lm_head")
    d2t: Literal["offset", "absolute", "none"] = Field(
        description="offset: target id = draft id + d2t (every tool); absolute: target id = d2t; none: same ids"
    )
    embedding: Literal["own", "target"]
    lm_head: Literal["own", "target", "target_rows", "embedding"]
    fc: FcInput
    norm: Norm | None = Field(default=None, description="the drafter's own norms; absent: like the target's")
    embedding_norm: bool = Field(default=True, description="input_layernorm on the embedding in the first layer")
    hidden_norm: Literal["own", "chained"] = Field(
        default="own", description="chained: hidden_norm(input_layernorm(state)), ModelOpt 0.43 to 0.47"
    )
    residual: Literal["pre_norm", "post_norm"] = Field(
        default="pre_norm", description="state added back by the first layer; post_norm: norm_before_residual"
    )
    recurrent: Literal["pre_norm", "post_norm"] = Field(
        default="pre_norm", description="what the next step gets; post_norm: norm_output of speculators and engines"
    )
    head_norm: bool = Field(default=True, description="the drafter's norm before lm_head (norm_output of SpecForge)")
    training_steps: Count | None = Field(default=None, description="recurrent steps seen in training (ttt_length)")
    rope: Rope
    max_position: Count = Field(description="positions the drafter was trained for")
