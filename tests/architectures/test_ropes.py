"""Rotary parameters: both layouts are read as transformers reads them."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import LlamaConfig

from eagle3_contracts.consumers import read_rope

THETA = {"rope_theta": 5000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
LINEAR = {"type": "linear", "factor": 2.0}
LAYOUTS: dict[str, dict[str, Any]] = {
    "old": {**THETA, "rope_scaling": YARN},
    "new": {"rope_parameters": {**THETA, **YARN}},
    "new, base beside": {**THETA, "rope_parameters": YARN},
    "both": {**THETA, "rope_scaling": YARN, "rope_parameters": {**THETA, **YARN}},
    "contradicting scaling": {**THETA, "rope_scaling": LINEAR, "rope_parameters": {**THETA, **YARN}},
    "contradicting base": {"rope_theta": 1e6, "rope_parameters": {**THETA, "rope_type": "default"}},
    "old type": {**THETA, "rope_scaling": LINEAR},
    "empty scaling": {**THETA, "rope_scaling": None},
    "base alone": THETA,
    "nothing": {},
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_both_layouts_are_read_as_transformers_reads_them(name: str) -> None:
    config = LlamaConfig(**LAYOUTS[name], max_position_embeddings=2048)
    real, read = config.rope_parameters, read_rope(LAYOUTS[name])
    assert read.theta == real["rope_theta"]
    assert read.type == real["rope_type"]
    assert dict(read.parameters).get("factor") == real.get("factor")
