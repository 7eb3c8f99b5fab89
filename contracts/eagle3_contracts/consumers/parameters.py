"""The parameters that a consumer's drafter class has for given flags, by canonical name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_GQA = ("q_proj", "k_proj", "v_proj")
_QUERY_LATENT = ("q_a_proj.weight", "q_a_layernorm.weight", "q_b_proj.weight")
_KEY_LATENT = ("kv_a_proj_with_mqa.weight", "kv_a_layernorm.weight", "kv_b_proj.weight")


@dataclass(frozen=True, slots=True)
class Built:
    """What the class builds. ``used``: consumed by its forward; ``idle``: loaded, and consumed by nothing."""

    used: frozenset[str]
    idle: frozenset[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides which parameters there are. ``planes``: the norms that per-plane norming makes."""

    attention: str
    layers: int
    later_norm: str
    planes: int
    fc_bias: bool = False
    joint_norm: bool = False
    plane_norms: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    qk_norm: bool = False
    query_latent: bool = True
    head: bool = True


def build_parameters(facts: Facts) -> Built:
    """List the parameters."""
    used = {"embed_tokens.weight", "fc.weight", "norm.weight", "d2t"}
    if facts.head:
        used.add("lm_head.weight")
    if facts.fc_bias:
        used.add("fc.bias")
    if facts.joint_norm:
        used.add("input_norm.weight")
    if facts.plane_norms:
        used |= {f"fc_norm.{index}.weight" for index in range(facts.planes)}
    idle: set[str] = set()
    for index in range(facts.layers):
        used |= {f"layers.{index}.{name}" for name in _layer(facts)}
        norms = {"input_layernorm", "hidden_norm"}
        entering = norms if index == 0 else {facts.later_norm}
        used |= {f"layers.{index}.{name}.weight" for name in entering}
        idle |= {f"layers.{index}.{name}.weight" for name in norms - entering}
    return Built(frozenset(used), frozenset(idle))


def _layer(facts: Facts) -> Iterator[str]:
    yield "post_attention_layernorm.weight"
    yield from (f"mlp.{name}_proj.weight" for name in ("gate", "up", "down"))
    yield "self_attn.o_proj.weight"
    if facts.o_bias:
        yield "self_attn.o_proj.bias"
    if facts.attention == "mla":
        names = _QUERY_LATENT if facts.query_latent else ("q_proj.weight",)
        yield from (f"self_attn.{name}" for name in (*names, *_KEY_LATENT))
        return
    for name in _GQA:
        yield f"self_attn.{name}.weight"
        if facts.qkv_bias:
            yield f"self_attn.{name}.bias"
    if facts.qk_norm:
        yield "self_attn.q_norm.weight"
        yield "self_attn.k_norm.weight"
