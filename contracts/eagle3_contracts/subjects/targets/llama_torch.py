"""The torch route through a Llama-type target: differentiable, batched, in any floating dtype.

Independent of the numpy route (``llama_numpy``): rotation by halves, torch's own attention. It shares with it
the reading of config.json and nothing else, so that their agreement means something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eagle3_contracts.subjects.targets.shape import LlamaShape, RopeShape

if TYPE_CHECKING:
    from torch import Tensor

Lookup = Callable[[str], "Tensor | None"]
"""Give a weight by its name in the checkpoint, without the ``model.`` prefix; None where the model has none."""


@dataclass(frozen=True, slots=True)
class TorchStates:
    """All states of one batch: ``boundaries`` n + 1 of [B, T, H], ``branches`` n of them, ``final`` after the norm."""

    boundaries: list[Tensor]
    branches: list[Tensor]
    final: Tensor


def forward(weights: Lookup, shape: LlamaShape, tokens: Tensor) -> TorchStates:
    """Run token ids [B, T] (no padding) through the model and keep every boundary."""
    import torch

    state = torch.nn.functional.embedding(tokens, _need(weights, "embed_tokens.weight"))
    cosine, sine = (table.to(state) for table in rotation_tables(shape.rope, shape.head_dim, tokens.shape[1]))
    boundaries, branches = [state], []
    for layer in range(shape.layers):
        prefix = f"layers.{layer}."
        normed = rms_norm(state, _need(weights, prefix + "input_layernorm.weight"), shape.eps)
        state = state + _attention(weights, prefix + "self_attn.", shape, normed, (cosine, sine))
        normed = rms_norm(state, _need(weights, prefix + "post_attention_layernorm.weight"), shape.eps)
        branch = _feed_forward(weights, prefix + "mlp.", normed)
        state = state + branch
        boundaries.append(state)
        branches.append(branch)
    return TorchStates(boundaries, branches, rms_norm(state, _need(weights, "norm.weight"), shape.eps))


def rms_norm(state: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Normalise in float32 and scale in the model's dtype, as transformers' LlamaRMSNorm does."""
    wide = state.float()
    wide = wide * (wide.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    return weight * wide.to(state.dtype)


def rotation_tables(rope: RopeShape, head_dim: int, length: int) -> tuple[Tensor, Tensor]:
    """Give cosine and sine [T, head_dim] in float32, the halves repeated."""
    import torch

    inverse = 1.0 / rope.theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if rope.kind == "linear":
        inverse = inverse / rope.factor
    if rope.kind == "llama3":
        inverse = _scale_llama3(inverse, rope)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), inverse)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def _scale_llama3(inverse: Tensor, rope: RopeShape) -> Tensor:
    """Slow down the low frequencies by ``factor`` and blend in between (Llama 3.1's rope_type llama3)."""
    import torch

    turns = rope.original_max_position * inverse / (2 * torch.pi)
    blend = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    blend = blend.clamp(0, 1)
    return (1 - blend) * inverse / rope.factor + blend * inverse


def _attention(
    weights: Lookup, prefix: str, shape: LlamaShape, normed: Tensor, tables: tuple[Tensor, Tensor]
) -> Tensor:
    import torch

    batch, length, _ = normed.shape
    query, key, value = (
        _project(weights, f"{prefix}{name}_proj", normed).view(batch, length, heads, shape.head_dim).transpose(1, 2)
        for name, heads in (("q", shape.heads), ("k", shape.kv_heads), ("v", shape.kv_heads))
    )
    query, key = _rotate(query, tables), _rotate(key, tables)
    group = shape.heads // shape.kv_heads
    key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
    mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    return _project(weights, prefix + "o_proj", mixed.transpose(1, 2).reshape(batch, length, -1))


def _rotate(heads: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    """Pair channel i with i + d/2 (the layout of every checkpoint in transformers' naming)."""
    import torch

    cosine, sine = tables
    first, second = heads.chunk(2, dim=-1)
    return heads * cosine + torch.cat((-second, first), dim=-1) * sine


def _feed_forward(weights: Lookup, prefix: str, normed: Tensor) -> Tensor:
    import torch

    gate = torch.nn.functional.silu(_project(weights, prefix + "gate_proj", normed))
    return _project(weights, prefix + "down_proj", gate * _project(weights, prefix + "up_proj", normed))


def _project(weights: Lookup, name: str, state: Tensor) -> Tensor:
    import torch

    return torch.nn.functional.linear(state, _need(weights, name + ".weight"), weights(name + ".bias"))


def _need(weights: Lookup, name: str) -> Tensor:
    tensor = weights(name)
    if tensor is None:
        raise KeyError(name)
    return tensor
