"""Evidence of a sound checkpoint of the toy target's drafter, to be changed in one place at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import INTEGER_TENSORS, expected_tensors
from eagle3_contracts.evidence import (
    CheckpointEvidence,
    DraftedComparison,
    EmbeddingComparison,
    Problem,
    WeightRecord,
    WeightValues,
)
from eagle3_contracts.faults.injecting.exports import Form, make_config
from eagle3_contracts.findings import Where
from support.judging.documents import VOCAB, toy_contract

FILE = "model.safetensors"
ENGINES = {"sglang": ">=0.5.17,<0.5.24", "vllm": ">=0.24,<=0.33.0"}
IDS = np.arange(32) * 2
"""Target ids that the toy's draft vocabulary holds: every second one."""

MLA = {
    "kind": "mla",
    "heads": 2,
    "q_lora_rank": 6,
    "kv_lora_rank": 4,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 2,
    "v_head_dim": 5,
}


def promised(engines: Mapping[str, str] | None = None, context: int | None = 1024, **tables: Any) -> Contract:
    """Give the toy contract with engines that it serves."""
    serving: dict[str, Any] = {"engines": dict(ENGINES if engines is None else engines)}
    return toy_contract(serving=serving | ({} if context is None else {"context_length": context}), **tables)


def record(name: str, shape: tuple[int, ...], dtype: str = "bfloat16", **changes: Any) -> WeightRecord:
    """Give one stored tensor whose values are those of a trained one; ``name`` is the canonical name."""
    return dataclasses.replace(WeightRecord(FILE, dtype, shape, name, WeightValues(largest=2.5)), **changes)


def sound_weights(contract: Contract) -> dict[str, WeightRecord]:
    """Give SpecForge's tensors of a contract's drafter, by stored name, and t2d."""
    weights = {
        name.replace("layers.0.", "midlayer.", 1): record(
            name, tensor.shape, "int64" if name in INTEGER_TENSORS else contract.drafter.dtype or contract.target.dtype
        )
        for name, tensor in expected_tensors(contract).items()
        if not tensor.borrowed
    }
    return weights | {"t2d": record("t2d", (contract.target.vocab_size,), "bool")}


def config_of(contract: Contract, form: Form = "specforge") -> dict[str, Any]:
    """Give config.json in a form; of latent attention, with DeepSeek's keys and class."""
    attention = contract.drafter.attention
    if attention.kind == "gqa":
        return make_config(contract, form)
    config = make_config(promised(), form) | attention.model_dump(exclude={"kind", "heads", "bias"}, exclude_none=True)
    del config["num_key_value_heads"], config["head_dim"]
    return config | {"architectures": ["Eagle3DeepseekV2ForCausalLM"], "model_type": "deepseek_v3"}


def sound_checkpoint(
    contract: Contract | None = None,
    *,
    form: Form = "specforge",
    config: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    tensors: Mapping[str, WeightRecord] | None = None,
    broken_config: bool = False,
    unset: tuple[str, ...] = (),
    **changes: Any,
) -> CheckpointEvidence:
    """Give the evidence of a checkpoint in which nothing is wrong, as the contract declares it.

    ``config``: keys that are laid over config.json, ``unset``: those that are left out; ``broken_config``: it yields
    nothing. ``without``: stored names that are left out, ``tensors``: stored ones that are added or replaced.
    """
    contract = contract or promised()
    stated = config_of(contract, form) | dict(config or {})
    weights = {name: item for name, item in sound_weights(contract).items() if name not in without}
    evidence = CheckpointEvidence(
        "drafter",
        form=form,
        config={key: item for key, item in stated.items() if key not in unset},
        weights=weights | dict(tensors or {}),
        idle=("t2d",),
        d2t=IDS - np.arange(len(IDS)),
        t2d=np.isin(np.arange(VOCAB), IDS),
        special_tokens={"beginning of text": 0, "end of text 2 (config.json)": 2},
        responses={"fc.weight": 0.4, "lm_head.weight": 0.2, "norm.weight": 0.3},
        drafted=DraftedComparison(1200, 0.994, (0.999, 0.992), "toy-eagle3/1.0.0"),
    )
    if broken_config:
        evidence = dataclasses.replace(evidence, config={}, problems=(problem("config", "config.json"),))
    return dataclasses.replace(evidence, **changes)


def rows(*distances: float) -> EmbeddingComparison:
    """Give a stored embedding whose rows lie at these distances from the target's; the tokens start at 7."""
    return EmbeddingComparison(np.arange(7, 7 + len(distances)), np.array(distances))


def problem(kind: str, file: str | None = FILE, **changes: Any) -> Problem:
    """Give something that could not be read."""
    place = "the folder" if file is None else Path(file).name
    found = Problem(kind, f"{place} cannot be used ({kind})", f"mend what is {kind}", Where(file=file))
    return dataclasses.replace(found, **changes)
