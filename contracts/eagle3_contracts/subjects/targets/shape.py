"""The shape of a Llama-type decoder, read from its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ROPE_TYPES = ("default", "linear", "llama3")
"""The rotary scalings that the native routes know; a model with another one goes through transformers."""


class UnsupportedShapeError(ValueError):
    """A config.json that describes something the native routes do not compute; the message names the key."""


@dataclass(frozen=True, slots=True)
class RopeShape:
    """Rotary positions: base, scaling and its parameters (names of transformers' rope_parameters)."""

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position: int = 8192


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """What the forward of a Llama-type model needs beside its weights."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    eps: float
    rope: RopeShape
    tied: bool = False


def read_shape(config: Mapping[str, Any]) -> LlamaShape:
    """Read the shape from the table of config.json that holds the language model.

    Raises ``UnsupportedShapeError`` for a rotary scaling or activation that the native routes do not compute, and for a
    missing or malformed key.
    """
    activation = config.get("hidden_act", "silu")
    if activation not in {"silu", "swish"}:
        raise UnsupportedShapeError(f"hidden_act is {activation!r}; the native routes compute silu")
    try:
        heads = int(config["num_attention_heads"])
        hidden = int(config["hidden_size"])
        return LlamaShape(
            layers=int(config["num_hidden_layers"]),
            hidden=hidden,
            intermediate=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden // heads),
            vocab=int(config["vocab_size"]),
            eps=float(config.get("rms_norm_eps", 1e-6)),
            rope=_read_rope(config),
            tied=bool(config.get("tie_word_embeddings", False)),
        )
    except KeyError as error:
        raise UnsupportedShapeError(f"the key {error.args[0]!r} is missing") from None
    except (TypeError, ZeroDivisionError) as error:
        raise UnsupportedShapeError(f"a size is no number: {error}") from None


def _read_rope(config: Mapping[str, Any]) -> RopeShape:
    """Read both spellings: transformers 5 nests everything in rope_parameters, 4 had rope_theta and rope_scaling."""
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = scaling.get("rope_theta", config.get("rope_theta", 10000.0))
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in ROPE_TYPES:
        raise UnsupportedShapeError(f"rope_type is {kind!r}; the native routes compute {', '.join(ROPE_TYPES)}")
    if scaling.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)) != 1.0:
        raise UnsupportedShapeError("partial_rotary_factor is not 1; the native routes rotate whole heads")
    return RopeShape(
        theta=float(theta),
        kind=kind,
        factor=float(scaling.get("factor", 1.0)),
        low_freq_factor=float(scaling.get("low_freq_factor", 1.0)),
        high_freq_factor=float(scaling.get("high_freq_factor", 4.0)),
        original_max_position=int(
            scaling.get("original_max_position_embeddings", config.get("max_position_embeddings", 8192))
        ),
    )
