"""Toy targets in a Llama's shape, with the residual norms of the story's Kimi-K2.5, written as transformers would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from eagle3_contracts.subjects.targets import llama_numpy
from eagle3_contracts.subjects.targets.shape import LlamaShape, read_shape

Weights = dict[str, npt.NDArray[np.float32]]

STORY_NORMS = {0: 1.0, 3: 37.0, 31: 174.0, 59: 111.0}
"""Boundary to median norm: what the story measured on Kimi-K2.5."""

_CURVE = {**STORY_NORMS, 61: 105.0}
"""The same, with the fall of the last layers carried on to the end; norms between these are interpolated."""

_STEP = 0.3
"""What a layer adds, as a share of the stream, where the stream does not grow: neighbours stay apart."""
_ECHO = 2.0
"""Sharpness of attention to the own token in the layers that shrink the stream."""


def kimi_toy(folder: Path, *, layers: int = 61, hidden: int = 64, vocab: int = 256, seed: int = 0) -> Path:
    """Write a target of random weights whose median norms follow ``STORY_NORMS``; give its folder.

    Every layer's matrices are scaled on one sequence of random tokens. Where the norms fall, attention looks
    at the own token and takes a share of the normed stream away. Random layers amplify rounding: states stored as
    bfloat16 conform, states computed in bfloat16 do not (0.14 at boundary 59).
    """
    config = _config(layers, hidden, vocab)
    shape = read_shape(config)
    draw = np.random.default_rng(seed)
    weights = _outer_weights(shape, draw)
    tokens = draw.integers(0, vocab, 64)
    turns = llama_numpy.rotation(shape.rope, shape.head_dim, len(tokens))
    state = weights["embed_tokens.weight"][tokens].astype(np.float64)
    curve = _norm_curve(layers)
    for layer in range(layers):
        drawn = _layer_weights(shape, draw, shrinks=curve[layer + 1] < curve[layer])
        state = _fit(drawn, shape, state, turns, curve[layer + 1])
        weights |= {f"layers.{layer}.{name}": weight for name, weight in drawn.items()}
    folder.mkdir(parents=True, exist_ok=True)
    prefixed = {name if name.startswith("lm_head") else f"model.{name}": weight for name, weight in weights.items()}
    save_file({name: np.ascontiguousarray(weight) for name, weight in prefixed.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def toy_tokens(length: int, *, vocab: int = 256, seed: int = 0, distinct: int = 40) -> list[int]:
    """Draw token ids with many repeats: ``distinct`` different ones at most."""
    draw = np.random.default_rng(seed)
    return [int(token) for token in draw.choice(draw.permutation(vocab)[:distinct], length)]


def _config(layers: int, hidden: int, vocab: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden // 2,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 8,
        "num_key_value_heads": hidden // 16,
        "head_dim": 16,
        "hidden_act": "silu",
        "vocab_size": vocab,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "rope_theta": 50000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
    }


def _norm_curve(layers: int) -> npt.NDArray[np.float64]:
    """Interpolate the story's norms in their logarithm; a toy of other depth gets the same curve, stretched."""
    at = np.arange(layers + 1) * 61 / layers
    return np.exp(np.interp(at, list(_CURVE), np.log(list(_CURVE.values()))))


def _outer_weights(shape: LlamaShape, draw: np.random.Generator) -> Weights:
    size = (shape.vocab, shape.hidden)
    return {
        "embed_tokens.weight": _normal(draw, size, shape.hidden**-0.5),
        "lm_head.weight": _normal(draw, size, 3 * shape.hidden**-0.5),
        "norm.weight": _norm_weight(draw, shape.hidden),
    }


def _layer_weights(shape: LlamaShape, draw: np.random.Generator, *, shrinks: bool) -> Weights:
    queries, keys, hidden = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden
    sizes = {"q_proj": (queries, hidden), "k_proj": (keys, hidden), "v_proj": (keys, hidden)}
    weights = {f"self_attn.{name}.weight": _normal(draw, size, hidden**-0.5) for name, size in sizes.items()}
    weights["self_attn.o_proj.weight"] = _normal(draw, (hidden, queries), queries**-0.5)
    if shrinks:
        one = np.eye(hidden, dtype=np.float32)
        spread = np.repeat(one.reshape(shape.kv_heads, 16, hidden), shape.heads // shape.kv_heads, axis=0)
        weights["self_attn.q_proj.weight"] = _ECHO * spread.reshape(queries, hidden)
        weights["self_attn.k_proj.weight"] = _ECHO * one
        weights["self_attn.v_proj.weight"] = one.copy()
        weights["self_attn.o_proj.weight"] = -spread.reshape(queries, hidden).T
    for name in ("gate_proj", "up_proj"):
        weights[f"mlp.{name}.weight"] = _normal(draw, (shape.intermediate, hidden), hidden**-0.5)
    weights["mlp.down_proj.weight"] = _normal(draw, (hidden, shape.intermediate), shape.intermediate**-0.5)
    weights |= {f"{name}_layernorm.weight": _norm_weight(draw, hidden) for name in ("input", "post_attention")}
    return weights


def _fit(
    weights: Weights,
    shape: LlamaShape,
    state: npt.NDArray[np.float64],
    turns: npt.NDArray[np.complex128],
    goal: float,
) -> npt.NDArray[np.float64]:
    """Scale what attention and MLP put into the stream, so that its median norm becomes ``goal``; give the stream."""
    now = float(np.median(np.linalg.norm(state, axis=-1)))
    normed = llama_numpy.rms_norm(state, weights["input_layernorm.weight"].astype(np.float64), shape.eps)
    heard = llama_numpy._attention(weights.get, "self_attn.", shape, normed, turns)
    between = float(np.sqrt(goal**2 - (_STEP * now) ** 2)) if goal < now else now * 1.02
    state = state + heard * _scale(weights, "self_attn.o_proj.weight", state, heard, between)
    normed = llama_numpy.rms_norm(state, weights["post_attention_layernorm.weight"].astype(np.float64), shape.eps)
    gate, up = (normed @ weights[f"mlp.{name}_proj.weight"].T for name in ("gate", "up"))
    added = (gate / (1 + np.exp(-gate)) * up) @ weights["mlp.down_proj.weight"].T
    return state + added * _scale(weights, "mlp.down_proj.weight", state, added, goal)


def _scale(
    weights: Weights, name: str, state: npt.NDArray[np.float64], added: npt.NDArray[np.float64], goal: float
) -> float:
    """Find by halving the factor on ``added`` that brings the median norm to ``goal``, and apply it to a weight."""
    now = np.median(np.linalg.norm(state, axis=-1))
    low, high = 0.0, float(4 * max(goal, now) / np.median(np.linalg.norm(added, axis=-1)))
    if goal < now:  # the norm falls first, and is smallest where the added vector has taken its part of the stream away
        high = float(np.median(-np.sum(state * added, axis=-1) / np.sum(added * added, axis=-1)))
    for _ in range(30):
        middle = (low + high) / 2
        reached = np.median(np.linalg.norm(state + middle * added, axis=-1))
        low, high = (middle, high) if (reached < goal) == (goal >= now) else (low, middle)
    weights[name] = (weights[name] * np.float32(high)).astype(np.float32)
    return high


def _normal(draw: np.random.Generator, size: tuple[int, int], scale: float) -> npt.NDArray[np.float32]:
    return (draw.standard_normal(size, dtype=np.float32) * np.float32(scale)).astype(np.float32)


def _norm_weight(draw: np.random.Generator, size: int) -> npt.NDArray[np.float32]:
    """Weights around 1 but not 1, so that a missed or doubled norm shows."""
    return np.exp(0.3 * draw.standard_normal(size)).astype(np.float32)
