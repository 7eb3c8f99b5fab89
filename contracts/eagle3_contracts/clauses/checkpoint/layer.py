"""What config.json says of the decoder layer, against the declared drafter: engines build and compute by it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.clauses.checkpoint.judging import Defect, find_place
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.evidence import CheckpointEvidence

_SAME = {"swish": "silu"}
_MLA = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def find_layer_defects(contract: Contract, evidence: CheckpointEvidence) -> Iterator[Defect]:
    """Give each key that is stated and contradicts the contract; what is left out is the engine's default."""
    table = layer_table(evidence.config)
    for key, declared in _declared(contract).items():
        found = table.get(key)
        if found is None or _agree(found, declared):
            continue
        yield Defect(
            f"config.json says {key} {str(found)[:40]}, the contract {declared}",
            find_place(evidence, key),
            f"engines build and compute the layer by config.json: set {key} to {declared}, or mend the contract",
        )


def _declared(contract: Contract) -> Mapping[str, Any]:
    drafter, attention = contract.drafter, contract.drafter.attention
    said: dict[str, Any] = {
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_attention_heads": attention.heads,
        "hidden_act": drafter.activation,
    }
    if isinstance(attention, GqaAttention):
        said |= {"num_key_value_heads": attention.kv_heads, "head_dim": attention.head_dim}
    else:
        said |= {key: value for key in _MLA if (value := getattr(attention, key)) is not None}
    norm = drafter.norm or contract.target.norm
    return said | ({"rms_norm_eps": norm.eps} if norm.kind == "rms" else {})


def _agree(found: Any, declared: Any) -> bool:
    if isinstance(declared, str):
        return _SAME.get(str(found), str(found)) == _SAME.get(declared, declared)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    return found == declared if isinstance(declared, int) else math.isclose(found, declared, rel_tol=1e-3)
