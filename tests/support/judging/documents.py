"""A small contract, varied in one place at a time."""

from __future__ import annotations

import copy
import json
from typing import Any

from eagle3_contracts.contract import Contract

HIDDEN, LAYERS, VOCAB = 8, 8, 64

_DOCUMENT: dict[str, Any] = {
    "schema": 1,
    "name": "toy-eagle3",
    "version": "1.0.0",
    "summary": "Four planes of a toy target.",
    "target": {
        "model": "toy/target",
        "architecture": "LlamaForCausalLM",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "vocab_size": VOCAB,
        "dtype": "bfloat16",
        "norm": {"kind": "rms", "eps": 1e-5},
    },
    "planes": [
        {"name": "embed", "boundary": 0},
        {"name": "low", "boundary": 2},
        {"name": "mid", "boundary": 4, "norm": {"median": [2.0, 4.0], "origin": "measured on the toy"}},
        {"name": "high", "boundary": 6},
        {"name": "final", "boundary": 8, "state": "pre_norm"},
        {"name": "normed", "boundary": 8, "state": "post_norm"},
    ],
    "storage": {"planes": ["low", "mid", "high", "final"]},
    "drafter": {
        "input": ["low", "mid", "high"],
        "last_hidden": "final",
        "hidden_size": HIDDEN,
        "attention": {"kind": "gqa", "heads": 2, "kv_heads": 1, "head_dim": 4},
        "intermediate_size": 16,
        "draft_vocab_size": 32,
        "d2t": "offset",
        "embedding": "target",
        "lm_head": "own",
        "fc": {},
        "rope": {"theta": 50000.0},
        "max_position": 2048,
    },
    "tolerance": {
        "bfloat16": {"relative_l2_median": 0.03, "logprob_max": 0.25, "origin": "measured on the toy"},
        "float32": {"relative_l2_median": 0.001, "logprob_max": 0.01, "origin": "measured on the toy"},
    },
}


def toy_contract(*stored: str, **tables: Any) -> Contract:
    """Give the toy contract: ``stored`` names the planes on disk, ``tables`` are laid over the document's own."""
    document = copy.deepcopy(_DOCUMENT)
    if stored:
        document["storage"]["planes"] = list(stored)
        fed = [name for name in stored if name not in {"final", "normed"}]
        document["drafter"]["input"] = fed or [stored[0]]
        finals = [name for name in stored if name in {"final", "normed"}]
        document["drafter"]["last_hidden"] = finals[0] if finals else "none"
    for name, table in tables.items():
        document[name] = document.get(name, {}) | table if isinstance(table, dict) else table
    return Contract.model_validate_json(json.dumps(document))
