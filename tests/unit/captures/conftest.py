"""A toy target with a residual stream that a capture can get right or wrong, and its contract."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from eagle3_contracts.contract import Contract

HIDDEN, LAYERS, VOCAB = 8, 8, 64


class ToyTarget:
    """Boundary k of a toy: causal, different at every boundary, deterministic."""

    def __init__(self) -> None:
        draw = np.random.default_rng(7)
        self.embedding = draw.normal(size=(VOCAB, HIDDEN)).astype(np.float32)
        self.weights = draw.normal(size=(LAYERS, HIDDEN, HIDDEN)).astype(np.float32) / 4

    def boundaries(self, tokens: Sequence[int]) -> np.ndarray:
        states = [self.embedding[list(tokens)]]
        for weight in self.weights:
            counts = np.arange(1, len(tokens) + 1, dtype=np.float32)[:, None]
            mixed = np.cumsum(states[-1], axis=0) / counts
            states.append(states[-1] + np.tanh(mixed @ weight))
        return np.stack(states)

    def planes(self, tokens: Sequence[int], boundaries: Sequence[int] = (2, 4, 5)) -> np.ndarray:
        return self.boundaries(tokens)[list(boundaries)]


@pytest.fixture(scope="session")
def toy() -> ToyTarget:
    return ToyTarget()


@pytest.fixture(scope="session")
def contract() -> Contract:
    document = {
        "schema": 1,
        "name": "toy",
        "version": "1.0.0",
        "summary": "A toy.",
        "target": {
            "model": "toy",
            "architecture": "Toy",
            "hidden_size": HIDDEN,
            "num_hidden_layers": LAYERS,
            "vocab_size": VOCAB,
            "dtype": "float32",
            "norm": {"eps": 1e-5},
        },
        "planes": [
            {"name": "low", "boundary": 2},
            {"name": "mid", "boundary": 4},
            {"name": "high", "boundary": 5},
        ],
        "storage": {"planes": ["low", "mid", "high"]},
        "drafter": {
            "input": ["low", "mid", "high"],
            "hidden_size": HIDDEN,
            "attention": {"kind": "gqa", "heads": 2, "kv_heads": 1, "head_dim": 4},
            "intermediate_size": 16,
            "draft_vocab_size": VOCAB,
            "d2t": "none",
            "embedding": "own",
            "lm_head": "own",
            "fc": {},
            "rope": {"theta": 10000.0},
            "max_position": 128,
        },
    }
    return Contract.model_validate_json(json.dumps(document))
