"""The numpy route through a Llama-type target, in float64: slow, plain, and the judge of the torch route.

Independent of ``llama_torch``: rotation as complex multiplication, attention head by head with an explicit
mask. It shares with it the reading of config.json and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eagle3_contracts.subjects.targets.shape import LlamaShape, RopeShape

Matrix = npt.NDArray[np.float64]
Lookup = Callable[[str], "npt.NDArray[np.float32] | None"]
"""Give a weight by its name in the checkpoint, without the ``model.`` prefix; None where the model has none."""


@dataclass(frozen=True, slots=True)
class NumpyStates:
    """All states of one sequence: ``boundaries`` [n+1, T, H], ``branches`` [n, T, H], ``final`` [T, H]; float64."""

    boundaries: Matrix
    branches: Matrix
    final: Matrix


def forward(weights: Lookup, shape: LlamaShape, tokens: npt.NDArray[np.int64]) -> NumpyStates:
    """Run token ids [T] through the model and keep every boundary."""
    state = _weight(weights, "embed_tokens.weight", tokens)
    boundaries, branches = [state], []
    turns = rotation(shape.rope, shape.head_dim, len(tokens))
    for layer in range(shape.layers):
        prefix = f"layers.{layer}."
        normed = rms_norm(state, _weight(weights, prefix + "input_layernorm.weight"), shape.eps)
        state = state + _attention(weights, prefix + "self_attn.", shape, normed, turns)
        normed = rms_norm(state, _weight(weights, prefix + "post_attention_layernorm.weight"), shape.eps)
        gate = _linear(weights, prefix + "mlp.gate_proj", normed)
        up = _linear(weights, prefix + "mlp.up_proj", normed)
        branch = _linear(weights, prefix + "mlp.down_proj", gate / (1 + np.exp(-gate)) * up)
        state = state + branch
        boundaries.append(state)
        branches.append(branch)
    final = rms_norm(state, _weight(weights, "norm.weight"), shape.eps)
    return NumpyStates(np.stack(boundaries), np.stack(branches), final)


def rms_norm(state: Matrix, weight: Matrix, eps: float) -> Matrix:
    """Divide each row by its root mean square and scale by the weight."""
    result: Matrix = state / np.sqrt(np.mean(np.square(state), axis=-1, keepdims=True) + eps) * weight
    return result


def rotation(rope: RopeShape, head_dim: int, length: int) -> npt.NDArray[np.complex128]:
    """Give the turns exp(i * position * frequency), [T, head_dim / 2]."""
    frequency = rope.theta ** (-np.arange(head_dim // 2) * 2.0 / head_dim)
    if rope.kind == "linear":
        frequency = frequency / rope.factor
    if rope.kind == "llama3":
        wavelength = 2 * np.pi / frequency
        longest = rope.original_max_position / rope.low_freq_factor
        shortest = rope.original_max_position / rope.high_freq_factor
        share = (rope.original_max_position / wavelength - rope.low_freq_factor) / (
            rope.high_freq_factor - rope.low_freq_factor
        )
        blended = (1 - share) * frequency / rope.factor + share * frequency
        frequency = np.where(
            wavelength > longest, frequency / rope.factor, np.where(wavelength < shortest, frequency, blended)
        )
    turns: npt.NDArray[np.complex128] = np.exp(1j * np.outer(np.arange(length), frequency))
    return turns


def _attention(
    weights: Lookup, prefix: str, shape: LlamaShape, normed: Matrix, turns: npt.NDArray[np.complex128]
) -> Matrix:
    query, key, value = (_linear(weights, f"{prefix}{name}_proj", normed) for name in "qkv")
    length, width = len(normed), shape.head_dim
    future = np.triu(np.ones((length, length), dtype=bool), 1)
    mixed = np.empty((length, shape.heads * width))
    for head in range(shape.heads):
        shared = head // (shape.heads // shape.kv_heads)
        own, theirs = slice(head * width, (head + 1) * width), slice(shared * width, (shared + 1) * width)
        scores = _rotate(query[:, own], turns) @ _rotate(key[:, theirs], turns).T / np.sqrt(width)
        scores[future] = -np.inf
        share = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed[:, own] = share / share.sum(axis=-1, keepdims=True) @ value[:, theirs]
    return _linear(weights, prefix + "o_proj", mixed)


def _rotate(head: Matrix, turns: npt.NDArray[np.complex128]) -> Matrix:
    half = head.shape[-1] // 2
    turned = (head[:, :half] + 1j * head[:, half:]) * turns
    return np.concatenate((turned.real, turned.imag), axis=-1)


def _linear(weights: Lookup, name: str, state: Matrix) -> Matrix:
    result: Matrix = state @ _weight(weights, name + ".weight").T
    bias = weights(name + ".bias")
    return result if bias is None else result + bias


def _weight(weights: Lookup, name: str, rows: npt.NDArray[np.int64] | None = None) -> Matrix:
    tensor = weights(name)
    if tensor is None:
        raise KeyError(name)
    return (tensor if rows is None else tensor[rows]).astype(np.float64)
