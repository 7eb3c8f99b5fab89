"""Catalog contracts at toy dimensions: the same planes, wiring and depth, for targets that fit a test."""

from __future__ import annotations

import json
from typing import Any

from eagle3_contracts.contract import Contract


def scale_down(contract: Contract, *, hidden: int = 64, vocab: int = 256) -> Contract:
    """Give the contract for a Llama-shaped toy (``kimi_toy``) of the same depth.

    Boundaries, storage, the drafter's input, flags and alignment, norm ranges and tolerances stay; sizes,
    architecture and all that identifies the published weights do not.
    """
    values: dict[str, Any] = contract.model_dump(mode="json", by_alias=True)
    small = contract.drafter.draft_vocab_size < contract.target.vocab_size
    narrow = contract.drafter.hidden_size != contract.target.hidden_size
    values["target"] |= {
        "model": f"a toy of {contract.target.model}",
        "architecture": "LlamaForCausalLM",
        "config_path": "",
        "hidden_size": hidden,
        "vocab_size": vocab,
        "quantization": "none",
        "norm": {"kind": "rms", "plus_one": False, "eps": 1e-5},
        "embed_scale": 1.0,
        "logit_scale": 1.0,
        "logit_softcap": None,
        "tied_embedding": False,
        "revision": None,
        "weights_sha256": None,
        "tokenizer": None,
    }
    values["drafter"] |= {
        "hidden_size": hidden // 2 if narrow else hidden,
        "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 16},
        "intermediate_size": 96,
        "draft_vocab_size": vocab // 2 if small else vocab,
    }
    return Contract.model_validate_json(json.dumps(values))
