"""Rotary parameters: both layouts read as transformers reads them, and as the contract's own frequencies compute."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from eagle3_contracts.consumers import read_rope, rope_of_contract
from support.drafters import ROPES, drafter_contract, rope_parameters

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
    config = importlib.import_module("transformers").LlamaConfig(**LAYOUTS[name], max_position_embeddings=2048)
    real, read = config.rope_parameters, read_rope(LAYOUTS[name])
    assert read.theta == real["rope_theta"]
    assert read.type == real["rope_type"]
    assert dict(read.parameters).get("factor") == real.get("factor")


def test_the_old_layout_alone_misses_the_new_one() -> None:
    assert read_rope(LAYOUTS["new"], "v4").theta == 10000.0
    assert read_rope(LAYOUTS["new"], "v4").type == "default"
    assert not read_rope(LAYOUTS["old"], "v4").differs(read_rope(LAYOUTS["new"]))


@pytest.mark.parametrize("kind", ROPES)
def test_a_contract_equals_its_own_config(kind: str) -> None:
    contract = drafter_contract(rope=ROPES[kind])
    assert rope_of_contract(contract).differs(read_rope({"rope_parameters": rope_parameters(contract)})) == ()


def test_every_parameter_of_a_scaling_counts() -> None:
    contract = drafter_contract(rope=ROPES["yarn"])
    for key in ("rope_theta", "factor", "original_max_position_embeddings", "beta_fast", "mscale"):
        changed = rope_parameters(contract)
        changed[key] = 2 * changed[key]
        assert rope_of_contract(contract).differs(read_rope({"rope_parameters": changed})), key


def test_defaults_that_are_written_out_change_nothing() -> None:
    written = {**YARN, "beta_fast": 32, "beta_slow": 1, "truncate": True}
    assert read_rope({**THETA, "rope_scaling": written}).differs(read_rope({**THETA, "rope_scaling": YARN})) == ()
