"""The target: the large model whose residual stream is captured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eagle3_contracts.contract.base import Count, Digest, KeyPath, Table, Text
from eagle3_contracts.contract.formats import Dtype


class Norm(Table):
    """A norm of the target or the drafter.

    ``plus_one``: the weight is stored as w and applied as 1 + w (Gemma, Qwen3.5). Reading such a weight
    without the one scales every rebuilt target wrongly (speculators 0.9, models/eagle3/core.py:119).
    """

    kind: Literal["rms", "layer"] = Field(default="rms", description="RMS norm or layer norm")
    plus_one: bool = Field(default=False, description="the weight is applied as 1 + w (Gemma, Qwen3.5)")
    eps: float = Field(gt=0, description="added to the variance")


class Tokenizer(Table):
    """What the token ids mean: a dataset made with another vocabulary or template is another dataset."""

    vocab_sha256: Digest | None = Field(default=None, description="sha256 of the vocabulary file")
    chat_template_sha256: Digest | None = Field(default=None, description="sha256 of the chat template's text")


class Target(Table):
    """The target's identity and the shape of its residual stream.

    ``config_path`` names the table of config.json that holds the language model, with dots for nesting
    (``text_config`` for models that nest it, absent otherwise). A quantised target is another target: its
    states differ. Layers that draft tokens themselves (MTP) do not count as layers.
    """

    model: Text = Field(description="the model's published name")
    architecture: Text = Field(description="the class that config.json names; dialects depend on it")
    config_path: KeyPath = Field(
        default="", description="the table of config.json that holds the language model, such as text_config"
    )
    hidden_size: Count = Field(description="width of the residual stream, and of every plane")
    num_hidden_layers: Count = Field(description="n: decoder layers, without MTP layers")
    vocab_size: Count = Field(description="rows of the embedding")
    dtype: Dtype = Field(description="what the target computes its states in")
    quantization: Text = Field(default="none", description="method of the weights' quantisation, or none")
    norm: Norm = Field(description="the final norm")
    embed_scale: float = Field(default=1.0, gt=0, description="factor on the embedding output (Gemma: sqrt(hidden))")
    logit_scale: float = Field(default=1.0, gt=0, description="factor on the logits (Cohere, Granite)")
    logit_softcap: float | None = Field(default=None, gt=0, description="final_logit_softcapping (Gemma 2)")
    tied_embedding: bool = Field(default=False, description="lm_head is the embedding")
    revision: Text | None = Field(default=None, description="commit or tag of the published weights")
    weights_sha256: Digest | None = Field(default=None, description="sha256 of the weights, if they are one file")
    tokenizer: Tokenizer | None = Field(default=None, description="digests of what gives token ids their meaning")
