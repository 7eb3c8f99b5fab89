"""The target: the large model whose residual stream is captured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eagle3_contracts.contract.base import Count, Digest, Dtype, Table, Text


class Norm(Table):
    """A norm of the target or the drafter.

    ``plus_one``: the weight is stored as w and applied as 1 + w (Gemma, Qwen3.5). Reading such a weight
    without the one scales every rebuilt target wrongly (speculators 0.9, models/eagle3/core.py:119).
    """

    kind: Literal["rms", "layer"] = "rms"
    plus_one: bool = False
    eps: float = Field(gt=0)


class Tokenizer(Table):
    """What the token ids mean: a dataset made with another vocabulary or template is another dataset."""

    vocab_sha256: Digest | None = None
    chat_template_sha256: Digest | None = None


class Target(Table):
    """The target's identity and the shape of its residual stream.

    ``config_path`` names the table of config.json that holds the language model (``text_config`` for
    models that nest it, empty otherwise). A quantised target is another target: its states differ.
    """

    model: Text
    architecture: Text
    config_path: str = ""
    hidden_size: Count
    num_hidden_layers: Count
    vocab_size: Count
    dtype: Dtype
    quantization: Text = "none"
    norm: Norm
    embed_scale: float = Field(default=1.0, gt=0, description="factor on the embedding output (Gemma: sqrt(hidden))")
    logit_scale: float = Field(default=1.0, gt=0, description="factor on the logits (Cohere, Granite)")
    logit_softcap: float | None = Field(default=None, gt=0, description="final_logit_softcapping (Gemma 2)")
    tied_embedding: bool = Field(default=False, description="lm_head is the embedding")
    revision: str | None = None
    weights_sha256: Digest | None = None
    tokenizer: Tokenizer | None = None
