"""What the ``server.*`` clauses on the server itself, its states and its requests must say at the edges."""

from __future__ import annotations

import dataclasses
from typing import Any

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedModel, ServerEvidence
from support.judging.cases import Case
from support.judging.comparisons import DECLARED, Plane, compare_states
from support.judging.documents import toy_contract
from support.judging.server_cases import (
    DEEPSEEK,
    EARLY,
    HIGH,
    LOW,
    NAMED,
    PROMISED,
    UNKNOWN,
    case,
    draft,
    ids,
    placed,
    target,
)
from support.judging.server_evidence import (
    broken,
    compare_server,
    say,
    sound_server,
)

LONG = "/models/" + "d" * 100
NESTED = toy_contract(target={"config_path": "outer.text_config"})
ANONYMOUS = say(version=None, device=None, attention_backend=None).arguments
LATE = Problem("timeout", "nothing came for 60 s", "look into the server's log")
NEEDS = (Problem("needs", "the target needs torch", "pip install torch"),)
ANOTHER = (Problem("target", "the target is another", "give the target"),)
MLA = toy_contract(
    drafter={
        "attention": {
            "kind": "mla",
            "heads": 2,
            "q_lora_rank": None,
            "kv_lora_rank": 4,
            "qk_nope_head_dim": 4,
            "qk_rope_head_dim": 2,
            "v_head_dim": 4,
        }
    }
)
ZERO_ID = toy_contract(
    planes=[
        {"name": "low", "boundary": 1},
        {"name": "mid", "boundary": 4},
        {"name": "high", "boundary": 6},
        {"name": "final", "boundary": 8, "state": "pre_norm"},
    ]
)


def nested(config: Any) -> ServerEvidence:
    """Give a server whose target nests its config."""
    return say(target=ServedModel("/models/toy", {"architectures": ["LlamaForCausalLM"], "outer": config}))


REACHABLE = (
    case("reachable", "says nothing of itself", "must passed", UNKNOWN),
    case("reachable", "says little of itself", "must passed", sound_server(arguments=ANONYMOUS, role=None)),
    case(
        "reachable",
        "two requests without an answer",
        "must failed",
        dataclasses.replace(broken("timeout", LATE.reason, 2), problems=(LATE, LATE)),
    ),
)
IDENTITY = (
    case("target", "its nested config", "must passed", nested({"text_config": {"num_hidden_layers": 8}}), NESTED),
    case(
        "target",
        "another depth in its nested config",
        "must failed",
        nested({"text_config": {"num_hidden_layers": 9}}),
        NESTED,
    ),
    case("target", "a config that is no table", "must passed", nested("none"), NESTED),
    case("target", "a config whose inner one is no table", "must passed", nested({"text_config": "none"}), NESTED),
    case(
        "target",
        "of a long path",
        "must failed",
        say(target=dataclasses.replace(target(num_hidden_layers=9), path=LONG)),
    ),
    case("target", "of a long class", "must failed", say(target=target(architectures=["L" * 100]))),
    case("algorithm", "eagle3 in small letters", "must passed", say(algorithm="eagle3")),
    case("algorithm", "eagle3 of another engine", "must passed", say(algorithm="eagle3", engine="vllm")),
    case("algorithm", "capitals of another engine", "must failed", say(algorithm="EAGLE3", engine="vllm")),
    case("algorithm", "NEXTN", "must failed", say(algorithm="NEXTN")),
    case("drafter", "no class named", "must passed", say(draft=draft(architectures=[])), NAMED),
    case("drafter", "a class that is no name", "must passed", say(draft=draft(architectures=[3])), NAMED),
    case("drafter", "no list of classes", "must passed", say(draft=draft(architectures="Eagle3")), NAMED),
    case(
        "drafter",
        "another layer",
        "must failed",
        say(draft=draft(intermediate_size=17, num_attention_heads=3, num_key_value_heads=4, vocab_size=65)),
    ),
    case(
        "drafter",
        "other heads of MLA, which has none of keys",
        "must passed",
        say(draft=draft(num_key_value_heads=4)),
        MLA,
    ),
)
DRAFTING = (
    case("draft-tokens", "steps not said", "must passed", say(steps=None)),
    case("draft-tokens", "topk not said", "must passed", say(topk=None)),
    case("draft-tokens", "of another engine", "must passed", say(engine="vllm", steps=1)),
    case(
        "draft-tokens",
        "fewer than asked for and wanted",
        "must failed",
        say(steps=1, draft_tokens=2, asked_draft_tokens=16),
        PROMISED,
    ),
    case("draft-tokens", "drafts nothing and says nothing", "must errored", sound_server("plain", arguments=None)),
    case("context", "its config elsewhere", "must passed", say(draft=ServedModel("toy/draft"))),
    case("context", "no draft model named", "must passed", say(draft=None)),
    case(
        "dtype",
        "of the drafter by its config",
        "must failed",
        say(draft_dtype="auto", draft=draft(torch_dtype="float16")),
    ),
    case("dtype", "by the config of no model", "must errored", say(dtype="auto", target=None)),
    case("quantization", "none, in words", "must passed", say(quantization="None", draft_quantization="unquant")),
)


ONE_EARLY = compare_server(LOW, Plane(3), HIGH)
FEW = compare_server(states=compare_states((LOW, Plane(4), HIGH), tokens=20))
SHIFTED = compare_server(*(dataclasses.replace(plane, shift=-1) for plane in DECLARED[:3]))


def afterwards(comparison: Any, first: Any = None) -> ServerEvidence:
    """Give a server whose rows of generated tokens compare otherwise than those of its prompts."""
    sound = sound_server(later=comparison)
    return sound if first is None else dataclasses.replace(sound, comparison=first)


PLACEMENT = (
    case("boundary", "rows of generated tokens as declared", "must passed", afterwards(compare_server(*DECLARED[:3]))),
    case("boundary", "rows of generated tokens one early", "must passed, must failed", afterwards(ONE_EARLY)),
    case("boundary", "few rows of generated tokens", "must passed", afterwards(FEW)),
    case("boundary", "all rows one early", "must failed", afterwards(ONE_EARLY, ONE_EARLY)),
    case(
        "order",
        "rows of generated tokens swapped",
        "must passed, must failed",
        afterwards(compare_server(Plane(4), LOW, HIGH)),
    ),
    case("token-shift", "rows of generated tokens one late", "must passed, must failed", afterwards(SHIFTED)),
    case("token-shift", "of a plain server", "must passed", sound_server("plain")),
    case("boundary", "of a target that cannot be run", "must errored", sound_server(comparison=None, problems=NEEDS)),
    case("boundary", "of another target", "must errored", sound_server(comparison=None, problems=ANOTHER)),
    case(
        "boundary", "of a server that says nothing", "must failed", dataclasses.replace(placed(EARLY), arguments=None)
    ),
    case("boundary", "in a version that is none", "must failed", placed(EARLY, version="nightly")),
    case(
        "boundary",
        "of a capture server, from its first layer on",
        "must failed",
        placed(EARLY, "capture", capture_ids=(1, 2, 4)),
        ZERO_ID,
    ),
    case(
        "boundary",
        "of a capture server whose ids are not known",
        "must failed",
        placed(EARLY, "capture", capture_ids=None),
    ),
    case("boundary", "its config elsewhere", "must failed", placed(EARLY, draft=ServedModel("toy/draft"))),
    case("boundary", "no draft model named", "must failed", placed(EARLY, draft=None)),
    case("boundary", "ids of no layer", "must failed", placed(EARLY, draft=ids())),
    case(
        "boundary",
        "ids in two places that are not read",
        "must failed",
        placed(EARLY, draft=draft(eagle_config={}, target_layer_ids=[1, 3, 5], dspark_target_layer_ids=[1, 3, 5])),
    ),
    case("boundary", "no ids", "must failed", placed(EARLY, draft=draft(eagle_config={}))),
    case(
        "boundary",
        "one early, one not known",
        "must failed, must errored",
        placed(compare_server(Plane(1), Plane(4, 0.02, rival=0.03), HIGH)),
    ),
    case("boundary", "DeepSeek's, as it says", "must passed", sound_server(), DEEPSEEK),
)


CASES: tuple[Case, ...] = (*REACHABLE, *IDENTITY, *DRAFTING, *PLACEMENT)
