"""Commands for the launch clauses of contexts, dtypes, quantisation, returned states and taps."""

from __future__ import annotations

from typing import Any

from support.judging.documents import toy_contract
from support.judging.launch_cases import (
    ALL,
    BEYOND,
    DRAFT,
    EAGLE3,
    LATE,
    LOCAL,
    SGLANG,
    SOUND,
    STATES,
    TOKENS,
    VLLM,
    Case,
    config,
    ids,
    served,
    vllm,
)
from support.judging.launch_drafting_cases import WORDS
from support.judging.launch_edge_cases import BY_BOTH, BY_VLLM, LONG, spread


def target(**values: Any) -> dict[str, Any]:
    """Give a target's config.json in the folder target."""
    return {"target": values}


_AT_TARGET = SOUND.replace("--context-length 2048", "").replace("toy/target", "./target")
_OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
CONTEXT = (
    Case("context", "nothing promised", "must passed", SOUND, toy_contract()),
    Case("context", "as long as promised", "must passed", SOUND.replace("2048", "1024"), served(context_length=1024)),
    Case("context", "longer than promised", "must passed", SOUND, served(context_length=1024)),
    Case(
        "context",
        "beyond positions, promised too",
        "must failed",
        SOUND.replace("2048", "2049"),
        served(context_length=1024),
    ),
    Case("context", "words", "must errored", SOUND.replace("2048", WORDS)),
    *(
        Case("context", f"vLLM's {text}", f"must {verdict}", vllm(EAGLE3, f"--max-model-len {text}"), BY_VLLM)
        for text, verdict in {
            "2k": "passed",
            "2K": "passed",
            "3K": "failed",
            "10K": "failed",
            "1m": "failed",
            "1M": "failed",
            "k": "errored",
            "2x": "errored",
        }.items()
    ),
    Case(
        "context",
        "auto, by the target's config",
        "must failed",
        vllm(EAGLE3, "--max-model-len auto").replace("toy/target", "./target"),
        BY_VLLM,
        target(max_position_embeddings=4096),
    ),
    Case(
        "context",
        "-1, by the target's config",
        "must passed",
        vllm(EAGLE3, "--max-model-len -1").replace("toy/target", "./target"),
        BY_VLLM,
        target(max_position_embeddings=2000),
    ),
    Case("context", "auto, and no target's config", "must skipped", vllm(EAGLE3, "--max-model-len auto"), BY_VLLM),
    Case(
        "context",
        "of the target's nested config",
        "must failed",
        _AT_TARGET,
        files=target(text_config={"max_position_embeddings": 4096}),
    ),
    Case(
        "context",
        "of a target's config that says true",
        "must skipped",
        _AT_TARGET,
        files=target(max_position_embeddings=True),
    ),
    Case(
        "context",
        "beyond the draft's nested config",
        "must failed",
        LOCAL,
        files=config(transformer_layer_config={"max_position_embeddings": 512}),
    ),
    Case("context", "within the draft's own config", "must passed", LOCAL, files=config(max_position_embeddings=2048)),
    *(
        Case(
            "context", f"let through by {value}", "must failed", f"{_OVERRIDE}={value} " + SOUND.replace("2048", "4096")
        )
        for value in ("TRUE", "yes", "0")
    ),
)
_MIXED = toy_contract(drafter={"dtype": "float32"})
_METHOD = EAGLE3 | {"quantization": "fp8"}
PRECISION = (
    Case("dtype", "a server of states in half", "must failed", f"{STATES} --dtype half"),
    Case("dtype", "capitals", "must passed", f"{SOUND} --dtype BFLOAT16"),
    Case("dtype", "auto", "must passed", f"{SOUND} --dtype auto"),
    Case("dtype", "two dtypes declared", "must failed", f"{SOUND} --dtype bfloat16", _MIXED),
    Case(
        "dtype",
        "vLLM's drafter in the target's",
        "must failed",
        vllm(EAGLE3 | {"model": "./draft"}).replace("toy/target", "./target"),
        BY_VLLM,
        target(dtype="float16") | config(),
    ),
    Case(
        "dtype",
        "vLLM's drafter, not in its own",
        "must passed",
        vllm(EAGLE3 | {"model": "./draft"}).replace("toy/target", "./target"),
        BY_VLLM,
        target(dtype="bfloat16") | config(dtype="float16"),
    ),
    Case("quantization", "vLLM's drafter", "must failed", spread(vllm(_METHOD)), BY_VLLM),
    Case(
        "quantization",
        "vLLM's drafter, said to have none",
        "must passed",
        vllm(_METHOD | {"quantization": "none"}),
        BY_VLLM,
    ),
    Case(
        "quantization",
        "vLLM's target alone",
        "must passed",
        vllm(EAGLE3, "--quantization fp8"),
        toy_contract(target={"quantization": "fp8"}),
    ),
    Case(
        "quantization",
        "vLLM's from the environment",
        "must errored",
        "vllm serve toy/target --speculative-config $SPECULATION",
        BY_VLLM,
    ),
    Case(
        "quantization",
        "a server of states, quantised as declared",
        "must passed",
        f"{STATES} --quantization FP8",
        toy_contract(target={"quantization": "fp8"}),
    ),
    Case(
        "quantization",
        "another than declared, the drafter without",
        "must failed",
        f"{SOUND} --quantization awq --speculative-draft-model-quantization none",
        toy_contract(target={"quantization": "fp8"}),
    ),
    Case("quantization", "said to be none", "must passed", f"{SOUND} --quantization none"),
)
RETURNED = (
    Case("hidden-states", "vLLM's", "must skipped", vllm(EAGLE3), BY_VLLM),
    Case("hidden-states", "perhaps in the config file", "must errored", f"{SGLANG} --config serve.yaml"),
    Case("hidden-states", "cached and in chunks", "must failed", STATES),
    Case("hidden-states", "chunks of none", "must passed", f"{STATES} --disable-radix-cache --chunked-prefill-size 0"),
    Case("hidden-states", "chunks of one", "must failed", f"{STATES} --disable-radix-cache --chunked-prefill-size 1"),
    Case("hidden-states", "whole prompts", "must failed", f"{SOUND} --return-hidden-states-mode full"),
    Case("hidden-states", "of the last token", "must skipped", f"{SOUND} --return-hidden-states-mode last"),
    Case("hidden-states", "of the taps", "must failed", f"{SGLANG} --enable-return-aux-hidden-states"),
    Case("draft-tokens", "states beside a drafter", "must passed", f"{SOUND} --enable-return-hidden-states"),
    Case("draft-tokens", "states of the taps", "must skipped", f"{SOUND} --enable-return-aux-hidden-states"),
    Case("draft-tokens", "states of whole prompts", "must skipped", f"{SGLANG} --return-hidden-states-mode full"),
    Case("draft-tokens", "given beside a config file", "must passed", f"{SOUND} --config serve.yaml"),
)
_NEW = {"architecture": "NewForCausalLM"}
_NORMED = {"input": ["low", "mid", "normed"]}
TAPS = (
    Case("taps", "a folder whose config is no JSON", "must errored", LOCAL, files={"draft": "{"}),
    Case("taps", "none", "must skipped", f"{SGLANG} --speculative-algorithm EAGLE3"),
    Case("taps", "a long name", "must skipped", SOUND.replace("toy/draft", LONG.strip("/"))),
    Case("taps", "a config that is not here, of a new architecture", "must skipped", SOUND, toy_contract(target=_NEW)),
    Case("taps", "one release", "must passed", LOCAL, served("==0.5.20"), ids(1, 3, 5)),
    Case("taps", "no release that was read", "must errored", LOCAL, served(">=0.6,<0.7"), ids(1, 3, 5)),
    Case("taps", "wrong in versions beyond those read", "must failed", LOCAL, served(BEYOND), ids(2, 4, 6)),
    Case(
        "taps",
        "an architecture that was not read",
        "must errored",
        LOCAL,
        toy_contract(target=_NEW, serving={"engines": {"sglang": "==0.5.20"}}),
        ids(1, 3, 5),
    ),
    Case("taps", "ids that it never reaches", "must failed", LOCAL, files=ids(90)),
    Case(
        "taps",
        "ids at two places that are not read",
        "must failed",
        LOCAL,
        files=config(eagle_aux_hidden_state_layer_ids=[1, 3, 5], target_layer_ids=[1, 2, 3]),
    ),
    Case(
        "taps",
        "planes that no list gives",
        "must failed",
        LOCAL,
        toy_contract(drafter=_NORMED, serving={"engines": {"sglang": LATE}}),
        ids(1, 3, 7),
    ),
    Case(
        "taps",
        "planes that its default gives",
        "must failed",
        LOCAL,
        toy_contract(
            drafter={"input": ["low", "mid", "five"]},
            planes=[{"name": name, "boundary": at} for name, at in {"low": 2, "mid": 4, "high": 6, "five": 5}.items()]
            + [{"name": "final", "boundary": 8, "state": "pre_norm"}],
            serving={"engines": {"sglang": LATE}},
        ),
        ids(2, 4, 6),
    ),
    Case(
        "taps",
        "planes that one release cannot give",
        "must failed",
        LOCAL,
        toy_contract(serving={"engines": {"sglang": ALL}}),
        ids(2, 4, 6),
    ),
    Case(
        "taps",
        "vLLM's last state",
        "must failed, must failed",
        vllm(EAGLE3 | {"model": "./draft"}),
        toy_contract(drafter=_NORMED, serving={"engines": {"vllm": VLLM}}),
        ids(2, 4, 8),
    ),
)
REST = (
    Case(
        "context",
        "the beginning of a name",
        "must failed",
        SOUND.replace("--context-length 2048", "--context-len 4096"),
    ),
    Case("context", "no draft", "must passed", f"{SGLANG} --speculative-algorithm EAGLE3 --context-length 2048"),
    Case("context", "no target", "must skipped", "python -m sglang.launch_server --speculative-algorithm EAGLE3"),
    Case("dtype", "no draft", "must passed", SGLANG),
    Case("draft-tokens", "what is not written stands before", "must passed", f"{SGLANG} $EXTRA {DRAFT} {TOKENS}"),
    Case("draft-tokens", "what is not written is two variables", "must errored", f"{SOUND} $ONE$OTHER"),
    Case(
        "draft-tokens",
        "vLLM with a flag of SGLang's",
        "must passed",
        vllm(EAGLE3, "--enable-return-hidden-states"),
        BY_VLLM,
    ),
    Case(
        "draft-path",
        "vLLM's model from the environment, and a table",
        "must errored",
        'vllm serve toy/target --spec-model $MODEL --speculative-config \'{"method": "eagle3"}\'',
        BY_VLLM,
    ),
    Case(
        "draft-tokens",
        "vLLM's number from the environment, and a table",
        "must errored",
        'vllm serve toy/target --spec-tokens $N --speculative-config \'{"method": "eagle3"}\'',
        BY_VLLM,
    ),
    Case("taps", "two engines promised", "must failed", LOCAL, BY_BOTH, ids(2, 4, 6)),
)

CASES = (*CONTEXT, *PRECISION, *RETURNED, *TAPS, *REST)
