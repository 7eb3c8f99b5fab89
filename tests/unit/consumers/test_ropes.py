"""Rotary parameters: a config in either layout against the contract's own (transformers' reading: architectures)."""

from __future__ import annotations

from typing import Any

import pytest

from eagle3_contracts.consumers import read_rope, rope_of_contract
from support.drafters import ROPES, drafter_contract, rope_parameters

THETA = {"rope_theta": 5000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
OLD: dict[str, Any] = {**THETA, "rope_scaling": YARN}
NEW: dict[str, Any] = {"rope_parameters": {**THETA, **YARN}}


def test_the_old_layout_alone_misses_the_new_one() -> None:
    assert read_rope(NEW, "v4").theta == 10000.0
    assert read_rope(NEW, "v4").type == "default"
    assert not read_rope(OLD, "v4").differs(read_rope(NEW))


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
