"""A consumer: one drafter class of one engine in a range of versions, and what it does with config and tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Path = tuple[str, ...]
"""Where a key stands in config.json, outermost table first."""

Feature = Literal[
    "residual_post_norm",
    "joint_norm",
    "plane_norms",
    "recurrent_post_norm",
    "fc_bias",
    "qkv_bias",
    "o_bias",
]
"""What a flag switches on: norm_before_residual, norm_before_fc, fc_norm, norm_output, and the biases."""

RopeLayout = Literal["v4", "v5"]
"""Which layout of rotary parameters is read: ``v4`` takes top-level ``rope_theta`` and ``rope_scaling`` alone,
``v5`` what transformers 5 makes of either layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One drafter class.

    ``architectures``: names in config.json that lead to it. ``speculators``: it also reads speculators' nested
    config. ``renames``: text in tensor names that is replaced, in this order. ``flags``: by feature, the places that
    are looked at; the first that is there decides, and a feature that is missing is never on; ``any_of``: features
    for which any place that is true decides. ``defaults``: features that are on where a speculators config says
    nothing. ``strays``: what becomes of a tensor without a parameter. ``silent``: texts of names that are dropped
    even where strays are refused. ``one_layer``: more layers stop it. ``later_norm``: what norms the stream on entry
    of a later layer. ``qk_norm``: it has norms on queries and keys. ``embedding``: ``target`` replaces the drafter's
    own at equal widths, ``own`` keeps what is stored. ``missing_head``: what a missing lm_head is. ``tied``: it honours
    tie_word_embeddings. ``fc_needs_other_width``: fc and its norms are skipped for input as wide as the embedding.
    ``wants_draft_vocab``: it stops where config.json has no draft_vocab_size. ``source``: where all this was read.
    """

    engine: str
    module: Literal["llama", "kimi", "deepseek", "qwen3"]
    versions: str
    architectures: tuple[str, ...]
    source: str
    attention: Literal["gqa", "mla"] = "gqa"
    speculators: bool = False
    renames: tuple[tuple[str, str], ...] = ()
    flags: Mapping[Feature, tuple[Path, ...]] = field(default_factory=dict)
    any_of: frozenset[Feature] = frozenset()
    defaults: frozenset[Feature] = frozenset()
    strays: Literal["dropped", "refused"] = "dropped"
    silent: tuple[str, ...] = ()
    one_layer: bool = False
    later_norm: Literal["input_layernorm", "hidden_norm"] = "input_layernorm"
    qk_norm: bool = False
    embedding: Literal["target", "own"] = "target"
    missing_head: Literal["random", "target"] = "random"
    tied: bool = False
    fc_needs_other_width: bool = False
    wants_draft_vocab: bool = False
    rope: RopeLayout = "v5"
    rope_style_key: str = ""
    rope_layout: Literal["half", "interleaved"] = "half"
