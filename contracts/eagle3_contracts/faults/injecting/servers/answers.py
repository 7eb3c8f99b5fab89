"""The stand-in's answers, in the form of SGLang 0.5.23: the same keys, in the same places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Array
from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.faults.injecting.servers.engine import Decoded, Engine

Json = dict[str, Any]


def answer(engine: Engine, role: ServerRole, request: Mapping[str, Any], prompt: tuple[int, ...], rid: str) -> Json:
    """Answer one prompt as an honest server of that role does."""
    wanted = request.get("sampling_params", {}).get("max_new_tokens", 128)
    done = engine.decode(prompt, wanted)
    meta: Json = {
        "id": rid,
        "finish_reason": {"type": "length", "length": wanted},
        "prompt_tokens": len(prompt),
        "weight_version": "default",
        "num_retractions": 0,
    }
    if request.get("return_logprob"):
        meta |= logprob_fields(done, request.get("logprob_start_len", -1) == 0, request.get("top_logprobs_num", 0))
    meta |= {
        "reasoning_tokens": 0,
        "completion_tokens": wanted,
        "cached_tokens": 0,
        "weight_versions": [{"version": "default", "start": 0, "end": wanted}],
        "cached_tokens_details": None,
    }
    if request.get("return_hidden_states"):
        meta["hidden_states"] = hidden_states(engine, role, done) if wanted else []
    meta |= {"dp_rank": None, "e2e_latency": 0.01}
    if role == "eagle3" and done.accepted:
        meta |= counter_fields(done, engine.steps)
    return {"output_ids": list(done.output), "meta_info": meta | {"response_sent_to_client_ts": 0.0}}


def hidden_states(engine: Engine, role: ServerRole, done: Decoded) -> list[Any]:
    """Give the prompt's block, and a row for each token generated but the last."""
    rows = done.final if role == "plain" else engine.planes(done.boundaries)
    prompt = len(done.prompt)
    listed = rows.astype(np.float32).tolist()
    return [listed[:prompt], *listed[prompt:-1]]


def counter_fields(done: Decoded, steps: int) -> Json:
    """Give what SGLang counts; its histogram ends with the last that is not zero."""
    right, rounds = sum(done.accepted), len(done.accepted)
    return {
        "spec_accept_rate": right / (rounds * steps),
        "spec_accept_length": len(done.output) / rounds,
        "spec_num_correct_drafts": right,
        "spec_num_proposed_drafts": rounds * steps,
        "spec_verify_ct": rounds,
        "spec_correct_drafts_histogram": [done.accepted.count(depth) for depth in range(max(done.accepted) + 1)],
    }


def logprob_fields(done: Decoded, prompt_too: bool, top: int) -> Json:  # noqa: FBT001
    """Give triples (log-probability, id, null), of the prompt from its first token on if asked for."""
    table, prompt = log_softmax(done.logits), len(done.prompt)
    first = [[None, done.prompt[0], None]]
    given = {
        "input_token_logprobs": first + _triples(table[: prompt - 1], done.prompt[1:]) if prompt_too else [],
        "output_token_logprobs": _triples(table[prompt - 1 :], done.output),
        "output_token_logprobs_length": len(done.output),
    }
    if top:
        given["input_top_logprobs"] = [None, *_tops(table[: prompt - 1], top)] if prompt_too else []
        given["output_top_logprobs"] = _tops(table[prompt - 1 : -1], top)
    return given


def _triples(table: Array, tokens: tuple[int, ...]) -> list[Any]:
    return [[float(table[at, token]), token, None] for at, token in enumerate(tokens)]


def _tops(table: Array, top: int) -> list[Any]:
    order = np.argsort(-table, axis=-1, kind="stable")[:, :top]
    return [[[float(row[at]), int(at), None] for at in best] for row, best in zip(table, order, strict=True)]


def log_softmax(logits: Array) -> Array:
    """Give log-probabilities [T, V] as float32, which is what a server computes in."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    return np.asarray(wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True)), np.float32)
