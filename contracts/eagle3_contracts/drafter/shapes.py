"""The tensors that a drafter of a contract consists of: canonical names, shapes, and which the target may lend.

Names are those that speculators, vLLM and SGLang use after their own renaming::

    embed_tokens.weight [V, H]                    lm_head.weight [D, H]            d2t [D], integers
    fc.weight [H, P*Ht]  fc.bias [H]              input_norm.weight [P*Ht]         fc_norm.{i}.weight [Ht]
    layers.{i}.input_layernorm.weight [H]         layers.0.hidden_norm.weight [H]
    layers.{i}.post_attention_layernorm.weight [H]
    layers.{i}.self_attn.*                        layers.{i}.mlp.{gate,up,down}_proj.weight
    norm.weight [H]

with V the target's and D the draft vocabulary, H the drafter's and Ht the target's width, P planes. The first layer's
attention reads the normed embedding and the normed state side by side: its input is 2H wide. A norm has a weight only,
a layer norm too (Cohere's has no bias). t2d is no part: it follows from d2t.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import Drafter, GqaAttention, MlaAttention

INTEGER_TENSORS = frozenset({"d2t"})
"""The canonical names of tensors that hold integers."""

TARGET_NORM, TARGET_HEAD = "target.norm.weight", "target.lm_head.weight"


class ExpectedTensor(NamedTuple):
    """The shape of a tensor, and whether the target lends it when the checkpoint does not hold it."""

    shape: tuple[int, ...]
    borrowed: bool = False


Named = Iterator[tuple[str, ExpectedTensor]]


def expected_tensors(contract: Contract) -> dict[str, ExpectedTensor]:
    """List every tensor that the drafter's forward consumes, by canonical name; nothing else is ever read."""
    drafter, target = contract.drafter, contract.target
    fed = len(drafter.input) * target.hidden_size
    tensors = dict(_head_tensors(drafter, target.vocab_size))
    tensors |= dict(_fc_tensors(drafter, fed, target.hidden_size))
    for index in range(drafter.layers):
        tensors |= {f"layers.{index}.{name}": tensor for name, tensor in _layer_tensors(drafter, first=index == 0)}
    return tensors


def expected_target_tensors(contract: Contract) -> dict[str, ExpectedTensor]:
    """List what targets are computed from: the target's head, and its final norm where the contract applies it."""
    target = contract.target
    tensors = {TARGET_HEAD: ExpectedTensor((target.vocab_size, target.hidden_size), borrowed=True)}
    if contract.norms_last_hidden():
        tensors[TARGET_NORM] = ExpectedTensor((target.hidden_size,), borrowed=True)
    return tensors


def _head_tensors(drafter: Drafter, vocab_size: int) -> Named:
    wide = drafter.hidden_size
    yield "embed_tokens.weight", ExpectedTensor((vocab_size, wide), drafter.embedding == "target")
    if drafter.lm_head != "embedding":
        yield "lm_head.weight", ExpectedTensor((drafter.draft_vocab_size, wide), drafter.lm_head != "own")
    if drafter.head_norm or drafter.recurrent == "post_norm":
        yield "norm.weight", ExpectedTensor((wide,))
    if drafter.d2t != "none":
        yield "d2t", ExpectedTensor((drafter.draft_vocab_size,))


def _fc_tensors(drafter: Drafter, fed: int, plane: int) -> Named:
    fc = drafter.fc
    if not fc.present:
        return
    yield "fc.weight", ExpectedTensor((drafter.hidden_size, fed))
    if fc.bias:
        yield "fc.bias", ExpectedTensor((drafter.hidden_size,))
    if fc.input_norm == "joint":
        yield "input_norm.weight", ExpectedTensor((fed,))
    if fc.input_norm == "per_plane":
        for index in range(len(drafter.input)):
            yield f"fc_norm.{index}.weight", ExpectedTensor((plane,))


def _layer_tensors(drafter: Drafter, *, first: bool) -> Named:
    wide, inner = drafter.hidden_size, drafter.intermediate_size
    norms = ["post_attention_layernorm"]
    if first:
        norms.append("hidden_norm")
    if not first or drafter.embedding_norm or drafter.hidden_norm == "chained":
        norms.append("input_layernorm")
    for name in norms:
        yield f"{name}.weight", ExpectedTensor((wide,))
    yield "mlp.gate_proj.weight", ExpectedTensor((inner, wide))
    yield "mlp.up_proj.weight", ExpectedTensor((inner, wide))
    yield "mlp.down_proj.weight", ExpectedTensor((wide, inner))
    attention, read = drafter.attention, 2 * wide if first else wide
    parts = _gqa_shapes(attention, read) if isinstance(attention, GqaAttention) else _mla_shapes(attention, read)
    for name, shape in parts:
        yield f"self_attn.{name}", ExpectedTensor(shape)
    mixed = attention.heads * (attention.head_dim if isinstance(attention, GqaAttention) else attention.v_head_dim)
    yield "self_attn.o_proj.weight", ExpectedTensor((wide, mixed))
    if attention.bias:
        yield "self_attn.o_proj.bias", ExpectedTensor((wide,))


def _gqa_shapes(attention: GqaAttention, read: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, heads in (("q", attention.heads), ("k", attention.kv_heads), ("v", attention.kv_heads)):
        yield f"{name}_proj.weight", (heads * attention.head_dim, read)
        if attention.bias:
            yield f"{name}_proj.bias", (heads * attention.head_dim,)
    if attention.qk_norm:
        yield "q_norm.weight", (attention.head_dim,)
        yield "k_norm.weight", (attention.head_dim,)
    if attention.sinks:
        yield "sinks", (attention.heads,)


def _mla_shapes(attention: MlaAttention, read: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name them as DeepSeek does; ``bias`` is on the down projections alone (transformers, deepseek_v3)."""
    queries = attention.heads * (attention.qk_nope_head_dim + attention.qk_rope_head_dim)
    if attention.q_lora_rank is None:
        yield "q_proj.weight", (queries, read)
    else:
        yield "q_a_proj.weight", (attention.q_lora_rank, read)
        yield "q_a_layernorm.weight", (attention.q_lora_rank,)
        yield "q_b_proj.weight", (queries, attention.q_lora_rank)
        if attention.bias:
            yield "q_a_proj.bias", (attention.q_lora_rank,)
    compressed = attention.kv_lora_rank + attention.qk_rope_head_dim
    yield "kv_a_proj_with_mqa.weight", (compressed, read)
    if attention.bias:
        yield "kv_a_proj_with_mqa.bias", (compressed,)
    yield "kv_a_layernorm.weight", (attention.kv_lora_rank,)
    expanded = attention.heads * (attention.qk_nope_head_dim + attention.v_head_dim)
    yield "kv_b_proj.weight", (expanded, attention.kv_lora_rank)
