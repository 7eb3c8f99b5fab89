"""What every ``server.*`` clause must say of hand-made evidence: what the server says of itself, and its answers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedAnswer, ServedModel, ServerEvidence
from support.judging.cases import Case
from support.judging.comparisons import DECLARED, Plane, rebuild_logits
from support.judging.documents import HIDDEN, LAYERS, toy_contract
from support.judging.server_evidence import (
    DRAFT_CONFIG,
    TARGET_CONFIG,
    answer,
    broken,
    change_answers,
    compare_server,
    gone,
    say,
    sound_server,
)

LOW, MID, HIGH = DECLARED[:3]
SERVED = {"engines": {"sglang": ">=0.5.20,<0.5.24"}, "min_draft_tokens": 4}


def case(
    clause: str, name: str, expected: str, evidence: ServerEvidence | None = None, contract: Contract | None = None
) -> Case:
    """Make a case; ``expected`` lists the findings, joined by ``, ``."""
    found = tuple(expected.split(", "))
    return Case(f"server.{clause}", name, found, evidence or sound_server(), contract or toy_contract())


def target(**changes: Any) -> ServedModel:
    return ServedModel("/models/toy", TARGET_CONFIG | changes)


def draft(**changes: Any) -> ServedModel:
    return ServedModel("/models/draft", DRAFT_CONFIG | changes)


FULL = toy_contract("low", "mid", "high")
NAMED = toy_contract(drafter={"architecture": "LlamaForCausalLMEagle3"})
PROMISED = toy_contract(serving=SERVED)
LONG = toy_contract(serving=SERVED | {"context_length": 4096})
FP8 = toy_contract(target={"quantization": "fp8"})
FINAL_FED = toy_contract(drafter={"input": ["low", "high", "final"]})
NO_TOLERANCE = toy_contract(target={"dtype": "float16"})
DEEPSEEK = toy_contract(target={"architecture": "DeepseekV3ForCausalLM"})
STANDING_IN = ("sgl_kernel: ten operations in plain PyTorch",)
CUT = ("exited", "the server ended with status 1; the log ends: CUDA out of memory")


def rows(change: Any, **options: Any) -> ServerEvidence:
    return change_answers(lambda item: dataclasses.replace(item, rows=change(item.rows)), **options)


def without_states(item: ServedAnswer) -> ServedAnswer:
    return dataclasses.replace(item, rows=None)


UNSAID = say(target=None, draft_tokens=None, context_length=None, dtype=None, draft_dtype=None)
UNKNOWN = sound_server(arguments=None)
OFF = change_answers(without_states, arguments=say(returns_hidden_states=False).arguments)

REACHABLE = (
    case("reachable", "answers", "must passed"),
    case("reachable", "beside a stand-in", "must passed", sound_server(stand_ins=STANDING_IN)),
    case("reachable", "takes no connection", "must failed", gone()),
    *(
        case("reachable", f"{kind} after two probes", "must failed", broken(kind, f"reason of {kind}", 2))
        for kind in ("timeout", "status", "no-json", "too-large", "truncated", "malformed")
    ),
    case("reachable", "ended half-way", "must failed", broken(*CUT, 2)),
    case("reachable", "a foreign answer", "must errored", broken("foreign", "the answer's id is another's", 2)),
    case("reachable", "not probed", "must errored", ServerEvidence("toy:30000")),
)
IDENTITY = (
    case("target", "its config", "must passed"),
    case("target", "another depth", "must failed", say(target=target(num_hidden_layers=12))),
    case("target", "another class", "must failed", say(target=target(architectures=["Qwen3ForCausalLM"]))),
    case("target", "its name alone", "must passed", say(target=ServedModel("toy/target"))),
    case("target", "another name and its numbers", "must passed", say(target=ServedModel("/srv/a"))),
    case(
        "target",
        "another name and no reference",
        "must errored",
        dataclasses.replace(
            say(target=ServedModel("/srv/a")),
            probes=tuple(dataclasses.replace(item, prediction=None) for item in sound_server().probes),
        ),
    ),
    case("target", "not said", "must errored", UNSAID),
    case("target", "unreachable", "must errored", gone()),
    case("algorithm", "EAGLE3", "must passed"),
    case("algorithm", "EAGLE", "must failed", say(algorithm="EAGLE")),
    case("algorithm", "another one", "must failed", say(algorithm="NGRAM")),
    case("algorithm", "none, by a URL alone", "must failed", sound_server("plain")),
    case("algorithm", "a plain server that was asked for", "must skipped", sound_server("plain", asked_role="plain")),
    case("algorithm", "a capture server, by a URL alone", "must failed", sound_server("capture")),
    case("algorithm", "a capture server", "must skipped", sound_server("capture", asked_role="capture")),
    case("algorithm", "plain, where capture was asked for", "must failed", sound_server("plain", asked_role="capture")),
    case("algorithm", "unknown", "must errored", UNKNOWN),
    case("drafter", "its config", "must passed", contract=NAMED),
    case("drafter", "another size", "must failed", say(draft=draft(hidden_size=16, draft_vocab_size=48))),
    case("drafter", "another class", "must failed", say(draft=draft(architectures=["Eagle3"])), NAMED),
    case("drafter", "the target itself", "must failed", say(draft=ServedModel("/models/toy", TARGET_CONFIG))),
    case("drafter", "none", "must failed", say(draft=None)),
    case("drafter", "not on this machine", "must errored", say(draft=ServedModel("toy/draft"))),
    case("drafter", "a capture server", "must skipped", sound_server("capture")),
)
DRAFTING = (
    case("draft-tokens", "as steps and topk come to", "must passed"),
    case("draft-tokens", "as the contract wants", "must passed", contract=PROMISED),
    case("draft-tokens", "2 of 16", "must failed", say(steps=1, draft_tokens=2, asked_draft_tokens=16)),
    case("draft-tokens", "2, where 4 are wanted", "must failed", say(steps=1, draft_tokens=2), PROMISED),
    case("draft-tokens", "16 said, 2 by the rule", "must failed", say(steps=1, draft_tokens=16), PROMISED),
    case("draft-tokens", "a tree", "must passed", say(steps=3, topk=4, draft_tokens=16), PROMISED),
    case("draft-tokens", "a tree too small", "must failed", say(steps=1, topk=4, draft_tokens=16), PROMISED),
    case("draft-tokens", "not said", "must errored", UNSAID),
    case("draft-tokens", "a plain server", "must skipped", sound_server("plain")),
    case("context", "as long as the positions", "must passed"),
    case("context", "longer", "must failed", say(context_length=8192)),
    case("context", "longer than the config says", "must failed", say(draft=draft(max_position_embeddings=1024))),
    case("context", "shorter than promised", "must failed", contract=LONG),
    case("context", "not said", "must errored", UNSAID),
    case("dtype", "as declared", "must passed"),
    case("dtype", "float32", "must passed", say(dtype="float32", draft_dtype="float32")),
    case("dtype", "float16", "must failed", say(dtype="half", draft_dtype=None)),
    case("dtype", "by the config", "must passed", say(dtype="auto", draft_dtype="bfloat16")),
    case("dtype", "not told", "must errored", say(dtype=None, draft_dtype=None, target=ServedModel("a"))),
    case("quantization", "none", "must passed"),
    case("quantization", "of the target", "must failed", say(quantization="fp8")),
    case("quantization", "as declared", "must passed", say(quantization="fp8"), FP8),
    case("quantization", "of the drafter too", "must failed", say(quantization="fp8", draft_quantization="fp8"), FP8),
    case("quantization", "unknown", "must errored", UNKNOWN),
)
STATES = (
    case("hidden-states", "with every answer", "must passed"),
    case("hidden-states", "switched off", "must skipped", OFF),
    case("hidden-states", "not with every answer", "must failed", change_answers(without_states, at=(1,))),
    case(
        "hidden-states",
        "no table",
        "must failed",
        change_answers(lambda item: dataclasses.replace(item, rows=None, ragged="rows of 24 and 16 numbers"), at=(2,)),
    ),
    case("hidden-states", "unreachable", "must errored", gone()),
    case("rows", "one per token", "must passed"),
    case(
        "rows",
        "the second time from the cache",
        "must failed",
        change_answers(
            lambda item: dataclasses.replace(item, rows=item.rows[10:], cached_tokens=10),
            runs=("repeated",),
            arguments=say(radix_cache=True).arguments,
        ),
    ),
    case(
        "rows",
        "the last chunk's",
        "must failed",
        rows(lambda table: table[-32:], at=(2, 3), arguments=say(chunked_prefill=32).arguments),
    ),
    case("rows", "lost for no known reason", "must failed", rows(lambda table: table[1:], at=(0,))),
    case("rows", "at risk", "should failed", say(radix_cache=True, chunked_prefill=8192)),
    case("rows", "switched off", "must skipped", OFF),
    case("rows", "not with every answer", "must errored", change_answers(without_states, at=(1,))),
    case("width", "three planes", "must passed"),
    case("width", "one plane of a plain server", "must passed", sound_server("plain")),
    case("width", "one plane", "must failed", rows(lambda table: table[:, :HIDDEN])),
    case("width", "two planes", "must failed", rows(lambda table: table[:, : 2 * HIDDEN])),
    case("width", "no whole number of planes", "must failed", rows(lambda table: table[:, :-3])),
    case("width", "unreachable", "must errored", gone()),
    case("finite", "all of them", "must passed"),
    case(
        "finite",
        "NaN in one row",
        "must failed",
        rows(lambda table: np.where(np.arange(table.size).reshape(table.shape) == 5, np.nan, table)),
    ),
    case("finite", "of another width", "must errored", rows(lambda table: table[:, :-3])),
    case("zero-rows", "none", "must passed"),
    case(
        "zero-rows",
        "half of them",
        "must failed, must failed, must failed",
        rows(lambda table: table * (np.arange(len(table)) % 2)[:, None]),
    ),
    case("zero-rows", "unreachable", "must errored", gone()),
)
NORMED = compare_server(Plane(LAYERS, state="n"))
PRE = compare_server(Plane(LAYERS), logits=rebuild_logits(0))
EARLY = compare_server(Plane(1), Plane(3), Plane(5))
STORY = compare_server(Plane(0), LOW, MID)
FED_FINAL = compare_server(LOW, HIGH, DECLARED[3], logits=rebuild_logits(2))
FED_NORMED = compare_server(LOW, HIGH, Plane(LAYERS, state="n"), logits=rebuild_logits(2, reading="post_norm"))
SWAPPED = compare_server(MID, LOW, HIGH)


def ids(*values: int) -> Any:
    return draft(eagle_config={"eagle_aux_hidden_state_layer_ids": list(values)})


def placed(comparison: Any, role: Any = "eagle3", **changes: Any) -> ServerEvidence:
    return dataclasses.replace(say(role, **changes), comparison=comparison)


PLACEMENT = (
    case("boundary", "as declared", "must passed"),
    case("boundary", "one early, as the ids say", "must failed", placed(EARLY, draft=ids(0, 2, 4))),
    case("boundary", "one early, whatever the ids", "must failed", placed(EARLY)),
    case("boundary", "the story", "must failed", placed(STORY, draft=ids(-1, 1, 3))),
    case("boundary", "by the capture flag", "must failed", placed(EARLY, "capture", capture_ids=(0, 2, 4))),
    case("boundary", "in a version that was not read", "must failed", placed(EARLY, version="0.6.0")),
    case("boundary", "of no version", "must failed", placed(EARLY, version=None)),
    case("boundary", "DeepSeek's rule", "must failed", placed(EARLY, draft=ids(1, 3, 5)), DEEPSEEK),
    case("boundary", "drift", "should failed", placed(compare_server(LOW, MID, Plane(6, 0.08)))),
    case("boundary", "without residual", "must failed", placed(compare_server(LOW, Plane(4, state="b"), HIGH))),
    case("boundary", "a plain server", "must skipped", sound_server("plain")),
    case("boundary", "no target", "must skipped", sound_server(comparison=None)),
    case("boundary", "no states", "must skipped", OFF),
    case("boundary", "rows missing", "must errored", rows(lambda table: table[1:], comparison=None)),
    case("boundary", "one plane", "must errored", rows(lambda t: t[:, :HIDDEN], comparison=compare_server(LOW))),
    case("boundary", "unreachable", "must errored", gone()),
    case("boundary", "no tolerance", "must errored", say(dtype=None, target=ServedModel("a")), NO_TOLERANCE),
    case("order", "as declared", "must passed"),
    case("order", "swapped", "must failed", placed(SWAPPED)),
    case(
        "order",
        "a boundary that is not known",
        "must errored",
        placed(compare_server(LOW, Plane(4, 0.02, rival=0.03), HIGH)),
    ),
    case("token-shift", "none", "must passed"),
    case(
        "token-shift",
        "one late",
        "must failed",
        placed(compare_server(*(dataclasses.replace(p, shift=-1) for p in DECLARED[:3]))),
    ),
    case("token-shift", "strays", "must failed", placed(compare_server(LOW, MID, Plane(6, p99=0.98)))),
    case("token-shift", "unreachable", "must errored", gone()),
    case("final-state", "of a plain server", "must passed", sound_server("plain")),
    case("final-state", "not normed", "must failed", sound_server("plain", comparison=PRE)),
    case("final-state", "fed to the drafter", "must passed", placed(FED_FINAL), FINAL_FED),
    case("final-state", "fed to the drafter after the norm", "must failed", placed(FED_NORMED), FINAL_FED),
    case("final-state", "not among the planes", "must skipped"),
    case("final-state", "unreachable", "must errored", gone()),
    case("final-state", "more planes", "must errored", rows(lambda t: np.tile(t, 2), role="plain")),
)
FOREIGN = Problem("foreign", "the answer to probe 3 names another request", "look for a proxy")
OTHER = answer(33)
REQUESTS = (
    case("own-request", "each its own", "must passed"),
    case("own-request", "of another id", "must failed", broken("foreign", FOREIGN.reason, 2)),
    case(
        "own-request",
        "another number of tokens",
        "must failed",
        change_answers(lambda a: dataclasses.replace(a, prompt_tokens=3), at=(1,)),
    ),
    case(
        "own-request",
        "other tokens",
        "must failed",
        change_answers(lambda a: dataclasses.replace(a, logprobs=OTHER.logprobs), at=(0,), runs=("alone",)),
    ),
    case(
        "own-request",
        "exchanged in the batch",
        "must failed",
        change_answers(lambda _: OTHER, at=(0,), runs=("batched",)),
    ),
    case("own-request", "the same rows twice", "must failed", rows(lambda _: OTHER.rows, runs=("alone",))),
    case("own-request", "unreachable", "must errored", gone()),
)
CASES = (*REACHABLE, *IDENTITY, *DRAFTING, *STATES, *PLACEMENT, *REQUESTS)
