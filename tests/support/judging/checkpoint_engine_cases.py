"""Cases of the checkpoint stage: what each promised engine makes of config.json."""

from __future__ import annotations

from typing import Any

from support.judging.cases import Case
from support.judging.checkpoint_cases import case
from support.judging.checkpoint_evidence import ENGINES, MLA, config_of, promised, record
from support.judging.documents import toy_contract

SGLANG, VLLM = ({name: ENGINES[name]} for name in ENGINES)
EARLY = {"sglang": ">=0.5.9,<0.5.24"}
KEY = "eagle_aux_hidden_state_layer_ids"


def nested(**changes: Any) -> dict[str, Any]:
    """Give a config.json whose decoder layer's keys stand in speculators' table; some of them changed."""
    config = config_of(promised(), "speculators")
    return {"transformer_layer_config": config["transformer_layer_config"] | changes}


ENGINE_RANGES = (
    case("engine-start", "sound", "must passed, must passed"),
    case("engine-start", "no serving", "must skipped", toy_contract()),
    case("engine-start", "one version", "must passed", promised({"sglang": "==0.5.20"})),
    case("engine-start", "an engine that was not read", "must errored, must passed", promised({"tgi": ">=1"} | SGLANG)),
    case("engine-start", "versions beyond those read", "must errored", promised({"sglang": ">=0.5.20,<0.6"})),
    case("engine-start", "versions before those read", "must errored", promised({"vllm": ">=0.10,<0.12"})),
    case("engine-start", "no version at all", "must errored", promised({"sglang": ">0.5.20,<0.5.21"})),
    case("engine-start", "versions without classes", "must errored", promised({"vllm": ">=0.17,<0.25"})),
    case("engine-start", "no class of that name", "must failed, must failed", config={"architectures": ["Llama"]}),
    case("engine-start", "in some versions", "must failed", promised(EARLY), config={"num_hidden_layers": 2}),
    case("fc-applied", "in the versions that start", "must passed", promised(EARLY), config={"num_hidden_layers": 2}),
    case("fc-applied", "in none that starts", "must skipped, must skipped", config={"architectures": ["Llama"]}),
    case("fc-applied", "versions beyond those read", "must errored", promised({"sglang": ">=0.5.20,<0.6"})),
    case("engine-start", "speculators' form", "must failed, must passed", form="speculators"),
    case("taps", "an engine that does not start", "must skipped, must passed", form="speculators"),
)
_FINAL = {"input": ["low", "mid", "final"], "last_hidden": "final"}
_NORMED = {"input": ["low", "mid", "normed"], "last_hidden": "final"}
TAPS = (
    case("taps", "sound", "must passed, must passed"),
    case("taps", "SGLang's ids late", "must failed, must passed", config={"eagle_config": {KEY: [2, 4, 6]}}),
    case("taps", "no ids", "must failed, must failed", config={"eagle_config": {}, KEY: None}),
    case("taps", "ids of another key", "must failed", promised(SGLANG), config={"eagle_config": {}, KEY: [2, 4, 6]}),
    case("taps", "ids that are ignored", "must failed", promised(VLLM), config={KEY: [2, 4, 6, 90]}),
    case("taps", "ids that stop it", "must failed", promised(SGLANG), config={"eagle_config": {KEY: [-5, 3, 5]}}),
    case("taps", "no id that is reached", "must failed", promised(VLLM), config={KEY: [90]}),
    case(
        "taps",
        "ids at two other places",
        "must failed",
        promised(SGLANG),
        config={
            "eagle_config": {},
            KEY: [2, 4, 6],
            "target_layer_ids": [1, 2, 3],
            "dflash_config": {"target_layer_ids": [1, 2, 3]},
        },
    ),
    case("taps", "one id", "must failed", promised(SGLANG), config={"eagle_config": {KEY: [1]}}),
    case("taps", "the last state", "must failed, must passed", promised(drafter=_FINAL)),
    case("taps", "the last state after its norm", "must failed, must failed", promised(drafter=_NORMED)),
    case(
        "taps",
        "an architecture that was not read",
        "must errored, must errored",
        promised(target={"architecture": "NewForCausalLM"}),
    ),
)
_NO_FC = promised(drafter={"fc": {"present": False}, "input": ["low"], "last_hidden": "final"})
_ONE = promised(SGLANG, drafter={"input": ["low"], "last_hidden": "final"})
FC = (
    case("fc-width", "sound", "must passed, must passed, must passed"),
    case("fc-width", "no fc declared", "must skipped", _NO_FC),
    case("fc-width", "none stored", "must errored", without=("fc.weight",)),
    case(
        "fc-width",
        "two planes",
        "must failed, must passed, must passed",
        tensors={"fc.weight": record("fc.weight", (8, 16))},
    ),
    case("fc-width", "one plane", "must failed", toy_contract(), tensors={"fc.weight": record("fc.weight", (8, 8))}),
    case("fc-width", "a row", "must failed", toy_contract(), tensors={"fc.weight": record("fc.weight", (8,))}),
    case("fc-width", "of no channel", "must failed", toy_contract(), tensors={"fc.weight": record("fc.weight", ())}),
    case(
        "fc-width",
        "built for two",
        "must passed, must failed, must failed",
        config={"eagle_config": {KEY: [1, 3]}, KEY: [2, 4]},
    ),
    case("fc-applied", "sound", "must passed, must passed"),
    case("fc-applied", "no fc declared", "must skipped", _NO_FC),
    case("fc-applied", "planes as wide as the drafter", "must failed", _ONE),
)
TWO = {"layers": 2}
LAYER_COUNT = (
    case("layer-count", "sound", "must passed, must passed, must passed"),
    case("layer-count", "not stated", "must errored", config={"num_hidden_layers": None}),
    case("layer-count", "two", "must failed, must passed, must passed", config={"num_hidden_layers": 2}),
    case("layer-count", "three of two", "must failed", toy_contract(drafter=TWO), config=nested(num_hidden_layers=3)),
    case("layer-count", "two declared", "must passed, must failed, must passed", promised(drafter=TWO)),
    case("layer-count", "no engine", "must passed", toy_contract()),
)
_NORMS = {"residual": "post_norm", "recurrent": "post_norm", "fc": {"input_norm": "joint"}}
_QK = {"kind": "gqa", "heads": 2, "kv_heads": 1, "head_dim": 4, "qk_norm": True}
_QWEN = {"architectures": ["Eagle3Qwen3ForCausalLM"]}
_BIASED = _QK | {"qk_norm": False, "bias": True}
FLAGS = (
    case("norm-flags", "none", "must passed, must passed"),
    case("norm-flags", "three", "must failed, must passed", promised(drafter=_NORMS)),
    case(
        "norm-flags", "of each plane", "must passed, must passed", promised(drafter={"fc": {"input_norm": "per_plane"}})
    ),
    case(
        "norm-flags",
        "all set, none declared",
        "must failed, must failed",
        config=dict.fromkeys(("norm_before_residual", "norm_before_fc", "norm_output"), True),
    ),
    case("norm-flags", "each plane's, not declared", "must failed, must failed", config={"fc_norm": True}),
    case(
        "norm-flags",
        "one not set",
        "must failed, must failed",
        promised(drafter={"recurrent": "post_norm"}),
        config={"norm_output": False},
    ),
    case(
        "norm-flags",
        "one where no engine looks",
        "must failed",
        promised(SGLANG, drafter={"recurrent": "post_norm"}),
        config={"norm_output": False, "eagle_config": {"norm_output": True}},
    ),
    case("norm-flags", "in every version another lack", "must failed", promised(EARLY, drafter=_NORMS)),
    case(
        "norm-flags",
        "two where no engine looks",
        "must failed",
        promised(SGLANG, drafter={"recurrent": "post_norm"}),
        unset=("norm_output",),
        config={"eagle_config": {"norm_output": True, "fc_norm": True}},
    ),
    case("norm-flags", "of queries and keys", "must passed", promised(VLLM, drafter={"attention": _QK}), config=_QWEN),
    case("norm-flags", "of queries and keys, in no class", "must failed", promised(VLLM, drafter={"attention": _QK})),
    case("norm-flags", "of queries and keys, not declared", "must failed", promised(VLLM), config=_QWEN),
    case("norm-flags", "with latent attention", "must passed", promised(SGLANG, drafter={"attention": MLA})),
    case("bias-flags", "none", "must passed, must passed"),
    case(
        "bias-flags",
        "in fc",
        "must failed, must failed",
        promised(drafter={"fc": {"bias": True}}),
        config={"bias": True},
    ),
    case("bias-flags", "in attention", "must failed, must passed", promised(drafter={"attention": _BIASED})),
    case(
        "bias-flags",
        "in both",
        "must failed, must failed",
        promised(drafter={"attention": _BIASED, "fc": {"bias": True}}),
        config={"bias": True},
    ),
    case(
        "bias-flags",
        "everywhere, not declared",
        "must failed, must failed",
        config={"bias": True, "attention_bias": True},
    ),
    case(
        "bias-flags",
        "with latent attention",
        "must passed",
        promised(SGLANG, drafter={"attention": MLA | {"bias": True}}),
    ),
)

CASES: tuple[Case, ...] = (*ENGINE_RANGES, *TAPS, *FC, *LAYER_COUNT, *FLAGS)
