"""What the stand-in says of itself: SGLang 0.5.23's own answers, with this server's models and arguments filled in."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.faults.injecting.servers.engine import Engine, embedded_drafter_folder

Json = dict[str, Any]

RECORDED = Path(__file__).with_name("sglang_0_5_23.json")
"""Answers of a real SGLang 0.5.23 with an EAGLE-3 drafter on a CPU, without paths and without its command line."""

CONTEXT = 2048
"""Tokens that one request may have: what the embedded contract promises."""


@cache
def _recorded() -> Json:
    recorded: Json = json.loads(RECORDED.read_text(encoding="utf-8"))
    return recorded


def model_info() -> Json:
    """Give ``/model_info``."""
    path = str(embedded_target())
    info: Json = copy.deepcopy(_recorded()["model_info"])
    return info | {"model_path": path, "served_model_name": path, "tokenizer_path": path}


def server_info(engine: Engine, role: ServerRole) -> Json:
    """Give ``/server_info`` of a server of that role."""
    path = str(embedded_target())
    info: Json = copy.deepcopy(_recorded()["server_info"])
    info |= {"model_path": path, "served_model_name": path, "tokenizer_path": path}
    info["context_length"] = CONTEXT
    flags = f"--model-path {path} --dtype float32 --context-length {info['context_length']}"
    if role == "eagle3":
        info["speculative_draft_model_path"] = embedded_drafter_folder()
        info |= {"speculative_num_steps": engine.steps, "speculative_num_draft_tokens": engine.steps + 1}
        flags += (
            f" --speculative-algorithm EAGLE3 --speculative-draft-model-path {embedded_drafter_folder()}"
            f" --speculative-num-steps {engine.steps} --speculative-eagle-topk 1"
            f" --speculative-num-draft-tokens {engine.steps + 1}"
        )
    else:
        info |= {name: None for name in info if name.startswith("speculative_draft_model_") or name in _DRAWN}
    if role == "capture":
        ids = [at - 1 for at in engine.boundaries_tapped()]
        info |= {"enable_return_hidden_states": False, "enable_return_aux_hidden_states": True}
        info |= {"aux_hidden_state_capture": "eagle3", "return_aux_hidden_state_layer_ids": ids}
    return info | {"launch_command": flags}


def with_internal_states(info: Json) -> Json:
    """Add the scheduler's table, which repeats the arguments."""
    left_out = ("launch_command", "status", "version", "frontend", "kv_events", "custom_sigquit_handler")
    repeated = {name: value for name, value in info.items() if name not in left_out}
    return info | {"internal_states": [repeated | _recorded()["internal_state"]]}


_DRAWN = frozenset(
    {
        "speculative_algorithm",
        "speculative_num_steps",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
    }
)
