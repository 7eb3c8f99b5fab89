"""Commands whose flags override values of config.json, for the launch clauses of contexts and of the models."""

from __future__ import annotations

import json
from typing import Any

from support.judging.documents import toy_contract
from support.judging.launch_cases import EAGLE3, LOCAL, SOUND, STATES, Case, config, vllm
from support.judging.launch_edge_cases import BY_VLLM

_TOY = toy_contract()
_THETA = _TOY.drafter.rope.theta
_THEIRS = {"target": {"rope_theta": 10000.0, "text_config": {"num_attention_heads": 8}}}


def sglang(overrides: dict[str, Any] | str, command: str = SOUND) -> str:
    """Give a command of SGLang with overrides."""
    text = overrides if isinstance(overrides, str) else json.dumps(overrides)
    return f"{command} --json-model-override-args '{text}'"


def _at_target(command: str) -> str:
    return command.replace("toy/target", "./target")


_YARN = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}}
_BOTH = {"target": {"rope_theta": _THETA}}
CASES = (
    Case("context", "a base of another model", "must failed", sglang({"rope_theta": _THETA * 2})),
    Case("context", "positions stretched by a flag", "must failed", sglang(_YARN)),
    Case("context", "no stretching, and no target here", "must errored", sglang({"rope_scaling": {"type": "default"}})),
    Case("context", "the base that both have", "must passed", _at_target(sglang({"rope_theta": _THETA})), files=_BOTH),
    Case("context", "the drafter's base, and no target here", "must errored", sglang({"rope_theta": _THETA})),
    Case(
        "context",
        "the drafter's base, and the target has another",
        "must failed",
        _at_target(sglang({"rope_theta": _THETA})),
        files={"target": {"rope_parameters": {"rope_theta": _THETA * 2}}},
    ),
    Case("context", "more positions than trained", "must failed", sglang({"max_position_embeddings": 4096})),
    Case("context", "fewer positions", "must passed", sglang({"max_position_embeddings": 1024})),
    Case(
        "context",
        "a base for states alone",
        "must failed",
        _at_target(sglang({"rope_theta": 5.0}, STATES)),
        files=_BOTH,
    ),
    Case("context", "overrides that are no JSON", "must errored", sglang("rope_theta=5")),
    Case("context", "overrides from the environment", "must errored", f"{SOUND} --json-model-override-args $MORE"),
    Case("context", "no overrides in the table", "must passed", sglang({})),
    Case("flags", "overrides given twice", "should failed", sglang({}, sglang({"rope_theta": _THETA}))),
    Case(
        "context",
        "vLLM's base of the target",
        "must failed",
        _at_target(vllm(EAGLE3, "--max-model-len 2048 --hf-overrides.rope_theta 5e5")),
        BY_VLLM,
        _THEIRS,
    ),
    Case(
        "context",
        "vLLM's scaling in a nested key",
        "must failed",
        _at_target(vllm(EAGLE3, "--max-model-len 2048 --hf-overrides.rope_scaling.factor 2")),
        BY_VLLM,
        _THEIRS,
    ),
    Case(
        "context",
        "vLLM's positions of the target",
        "must failed",
        _at_target(vllm(EAGLE3, "--hf-overrides '{\"max_position_embeddings\": 4096}'")),
        BY_VLLM,
        _THEIRS,
    ),
    Case("draft-path", "layers of the target given to both", "must failed", sglang({"num_hidden_layers": 8})),
    Case("draft-path", "another width", "must failed, must failed", sglang({"hidden_size": 7})),
    Case(
        "draft-path",
        "another width, for vLLM's target",
        "must failed",
        vllm(EAGLE3, '--hf-overrides \'{"text_config": {"hidden_size": 7}}\''),
        BY_VLLM,
    ),
    Case("draft-path", "a key that nothing here says", "must errored", sglang({"num_attention_heads": 8})),
    Case(
        "draft-path",
        "heads as the target has, and the drafter has not",
        "must failed",
        _at_target(sglang({"num_attention_heads": 8}, LOCAL)),
        files=_THEIRS | config(num_attention_heads=4),
    ),
    Case(
        "draft-path",
        "heads as both have",
        "must passed",
        _at_target(sglang({"num_attention_heads": 8}, LOCAL)),
        files=_THEIRS | config(num_attention_heads=8),
    ),
    Case("draft-path", "the dtype that both have", "must passed", sglang({"torch_dtype": "bfloat16"})),
    Case("draft-path", "positions are no model's name", "must passed", sglang({"rope_theta": _THETA * 2})),
)
