"""Commands and what each launch clause must say of them: read by the real reader, judged by the real clause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.launches import gather
from support.judging.documents import toy_contract

SGLANG = "python -m sglang.launch_server --model-path toy/target"
DRAFT = "--speculative-algorithm EAGLE3 --speculative-draft-model-path toy/draft"
TOKENS = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
SOUND = f"{SGLANG} {DRAFT} {TOKENS} --context-length 2048"
VLLM = ">=0.30,<0.33.1"
LATE, ALL, BEYOND = ">=0.5.20,<0.5.24", ">=0.5.9,<0.5.24", ">=0.5.20,<0.6"


def served(versions: str = LATE, engine: str = "sglang", **more: Any) -> Contract:
    """Give the toy contract, served by an engine."""
    return toy_contract(serving={"engines": {engine: versions}, "min_draft_tokens": 4, **more})


def vllm(speculation: Mapping[str, Any] | str, flags: str = "--max-model-len 2048") -> str:
    """Give a command of vLLM."""
    text = speculation if isinstance(speculation, str) else json.dumps(speculation)
    return f"vllm serve toy/target --speculative-config '{text}' {flags}"


EAGLE3 = {"method": "eagle3", "model": "toy/draft", "num_speculative_tokens": 3}


@dataclass(frozen=True, slots=True)
class Case:
    """``expected``: level and verdict of each finding. ``files``: configs that lie beside the script.

    ``drafter``: the checkpoint that is checked along with the command.
    """

    clause: str
    name: str
    expected: str
    text: str
    contract: Contract = field(default_factory=served)
    files: Mapping[str, Any] = field(default_factory=dict)
    drafter: str | None = None

    @property
    def title(self) -> str:
        """Name the case for a test."""
        return f"{self.clause}: {self.name}"

    def judge(self, folder: Path) -> list[Finding]:
        """Write the script and what lies beside it, read it, and judge the clause."""
        for name, content in self.files.items():
            path = folder / name / "config.json"
            path.parent.mkdir(parents=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        script = folder / "serve.sh"
        script.write_text(self.text, encoding="utf-8")
        subject = Subject("launch", str(script), "serve.sh")
        evidence = gather(self.contract, subject, Options(drafter=self.drafter))
        return judge_clause(clause(f"launch.{self.clause}"), self.contract, evidence)


def config(**changes: Any) -> dict[str, dict[str, Any]]:
    """Give a draft's config.json in the folder draft."""
    return {"draft": {"architectures": ["LlamaForCausalLMEagle3"], "dtype": "bfloat16"} | changes}


def ids(*values: int) -> dict[str, dict[str, Any]]:
    """Give a config with ids where SGLang reads them."""
    return config(eagle_config={"eagle_aux_hidden_state_layer_ids": list(values)})


LOCAL = SOUND.replace("toy/draft", "./draft")
STATES = f"{SGLANG} --enable-return-hidden-states"
UNWRITTEN = f"{SOUND} $EXTRA"
BROKEN = f"{SGLANG} 'toy"

COMMAND = (
    Case("readable", "one command", "must passed", SOUND),
    Case("readable", "a variable at its default", "must passed", "N=${N:-3}\n" + SOUND),
    Case("readable", "an open quote", "must failed", BROKEN),
    Case("readable", "no server", "must failed", "python train.py"),
    Case("readable", "two servers", "must failed", f"{SOUND} &\n{SOUND}"),
    Case("readable", "no JSON", "must failed", vllm("{method: eagle3}"), served(VLLM, "vllm")),
    Case("engine", "as promised", "must passed", SOUND),
    Case("engine", "another", "must failed", vllm(EAGLE3)),
    Case("engine", "none promised", "must skipped", SOUND, toy_contract()),
    Case("engine", "an open quote", "must errored", BROKEN),
    Case("flags", "all known", "must passed", SOUND),
    Case("flags", "the beginning of a name", "must passed", SOUND.replace("-draft-tokens", "-draft-tok")),
    Case("flags", "misspelt", "must failed", SOUND.replace("-num-draft", "-num-drafted")),
    Case("flags", "unlike any", "must failed", f"{SOUND} --frobnicate"),
    Case("flags", "of later releases", "must failed", f"{SOUND} --speculative-use-block-verification"),
    Case("flags", "of later releases, none promised", "must passed", f"{SOUND} --spec-trace-dir x", toy_contract()),
    Case("flags", "retired", "should failed", f"{SOUND} --disable-cuda-graph", served(">=0.5.22,<0.5.24")),
    Case("flags", "without effect", "must failed", f"{SOUND} --collect-tokens-histogram", served(">=0.5.14,<0.5.17")),
    Case("flags", "a word that stands alone", "must failed", f"{SOUND} --disable-radix-cache true"),
    Case("flags", "twice, differently", "should failed", f"{SOUND} --tp 2 --tp-size 4"),
    Case("flags", "twice, alike", "must passed", f"{SOUND} --tp 2 --tp-size 2"),
    Case("flags", "a variable that may hold any", "must errored", UNWRITTEN),
    Case("flags", "versions beyond those read", "must passed, must errored", SOUND, served(BEYOND)),
    Case(
        "flags",
        "vLLM's",
        "must passed",
        vllm(EAGLE3, "--no-enable-prefix-caching -tp 2"),
        served(VLLM, "vllm"),
    ),
)
DRAFTING = (
    Case("algorithm", "EAGLE3", "must passed", SOUND),
    Case("algorithm", "EAGLE", "must failed", SOUND.replace("EAGLE3", "EAGLE")),
    Case("algorithm", "NEXTN", "must failed", SOUND.replace("EAGLE3", "NEXTN")),
    Case("algorithm", "none", "must failed", SGLANG),
    Case("algorithm", "unknown", "must failed", SOUND.replace("EAGLE3", "EAGEL3")),
    Case("algorithm", "small letters, late", "must passed", SOUND.replace("EAGLE3", "eagle3")),
    Case("algorithm", "small letters, early", "must failed", SOUND.replace("EAGLE3", "eagle3"), served(ALL)),
    Case("algorithm", "from the environment", "must errored", SOUND.replace("EAGLE3", "$ALGORITHM")),
    Case("algorithm", "perhaps in the config file", "must errored", f"{SGLANG} --config serve.yaml"),
    Case("algorithm", "a capture server", "must skipped", STATES),
    Case("algorithm", "vLLM's method", "must passed", vllm(EAGLE3), served(VLLM, "vllm")),
    Case("algorithm", "vLLM's eagle", "must failed", vllm(EAGLE3 | {"method": "eagle"}), served(VLLM, "vllm")),
    Case("algorithm", "vLLM, no method", "must errored", vllm({"model": "a/b"}), served(VLLM, "vllm")),
    Case("draft-path", "a name", "must passed", SOUND),
    Case("draft-path", "a folder", "must passed", LOCAL, files=config()),
    Case("draft-path", "none", "must failed", SOUND.replace("--speculative-draft-model-path toy/draft", "")),
    Case("draft-path", "the target", "must failed", SOUND.replace("toy/draft", "toy/target")),
    Case(
        "draft-path",
        "another class of drafter",
        "must failed",
        LOCAL,
        toy_contract(drafter={"architecture": "Eagle3DeepseekV2ForCausalLM"}),
        config(),
    ),
    Case("draft-path", "a folder whose config is no JSON", "must errored", LOCAL, files={"draft": "{"}),
    Case("draft-path", "from the environment", "must errored", SOUND.replace("toy/draft", '"$DRAFT"')),
    Case("draft-tokens", "a chain of 4", "must passed", SOUND),
    Case(
        "draft-tokens", "2 of 16", "must failed", SOUND.replace("steps 3", "steps 1").replace("tokens 4", "tokens 16")
    ),
    Case("draft-tokens", "3 of 2", "must failed", SOUND.replace("steps 3", "steps 2").replace("tokens 4", "tokens 2")),
    Case(
        "draft-tokens",
        "a chain shorter than promised",
        "must failed",
        SOUND.replace("steps 3", "steps 1").replace("tokens 4", "tokens 2"),
    ),
    Case("draft-tokens", "a tree", "must passed", SOUND.replace("topk 1", "topk 4").replace("tokens 4", "tokens 16")),
    Case(
        "draft-tokens",
        "a tree beyond its candidates",
        "must failed",
        SOUND.replace("topk 1", "topk 2").replace("tokens 4", "tokens 16"),
    ),
    Case("draft-tokens", "all defaults", "must passed", SOUND.replace(TOKENS, "")),
    Case("draft-tokens", "topk without steps", "must failed", SOUND.replace("--speculative-num-steps 3", "")),
    Case("draft-tokens", "steps without topk", "must failed", SOUND.replace("--speculative-eagle-topk 1", "")),
    Case("draft-tokens", "no steps at all", "must failed", SOUND.replace("steps 3", "steps 0")),
    Case("draft-tokens", "from the environment", "must errored", SOUND.replace("steps 3", "steps $STEPS")),
    Case("draft-tokens", "no number", "must errored", SOUND.replace("steps 3", "steps three")),
    Case("draft-tokens", "overridden by what is not written", "must errored", UNWRITTEN),
    Case("draft-tokens", "adaptive", "must errored", f"{SOUND} --speculative-adaptive"),
    Case("draft-tokens", "versions beyond those read", "must passed, must errored", SOUND, served(BEYOND)),
    Case("draft-tokens", "vLLM's chain", "must passed", vllm(EAGLE3), served(VLLM, "vllm")),
    Case(
        "draft-tokens",
        "vLLM's short chain",
        "must failed",
        vllm(EAGLE3 | {"num_speculative_tokens": 1}),
        served(VLLM, "vllm"),
    ),
)
REST = (
    Case("context", "within positions", "must passed", SOUND),
    Case("context", "beyond positions", "must failed", SOUND.replace("2048", "4096")),
    Case(
        "context",
        "beyond positions, let through",
        "must failed",
        "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 " + SOUND.replace("2048", "4096"),
    ),
    Case("context", "beyond the draft's own config", "must failed", LOCAL, files=config(max_position_embeddings=1024)),
    Case("context", "shorter than promised", "must failed", SOUND.replace("2048", "512"), served(context_length=1024)),
    Case(
        "context",
        "of the target's config",
        "must failed",
        SOUND.replace("--context-length 2048", "").replace("toy/target", "./target"),
        files={"target": {"max_position_embeddings": 131072}},
    ),
    Case("context", "not said", "must skipped", SOUND.replace("--context-length 2048", "")),
    Case("context", "from the environment", "must errored", SOUND.replace("2048", "$LENGTH")),
    Case("context", "vLLM's", "must failed", vllm(EAGLE3, "--max-model-len 4k"), served(VLLM, "vllm")),
    Case("dtype", "of the checkpoints", "must passed", SOUND),
    Case("dtype", "as declared", "must passed", f"{SOUND} --dtype bfloat16"),
    Case("dtype", "half", "must failed", f"{SOUND} --dtype half"),
    Case("dtype", "unknown", "must failed", f"{SOUND} --dtype bf16"),
    Case("dtype", "a draft's config without one", "must failed", LOCAL, files=config(dtype=None)),
    Case("dtype", "from the environment", "must errored", f"{SOUND} --dtype $DTYPE"),
    Case("quantization", "none", "must passed", SOUND),
    Case(
        "quantization", "of a target that is not quantised", "must failed, must failed", f"{SOUND} --quantization fp8"
    ),
    Case(
        "quantization",
        "inherited",
        "must failed",
        f"{SOUND} --quantization fp8",
        toy_contract(target={"quantization": "fp8"}),
    ),
    Case(
        "quantization",
        "not inherited",
        "must passed",
        f"{SOUND} --quantization fp8 --speculative-draft-model-quantization unquant",
        toy_contract(target={"quantization": "fp8"}),
    ),
    Case("quantization", "of the drafter alone", "must failed", f"{SOUND} --speculative-draft-model-quantization fp8"),
    Case("quantization", "from the environment", "must errored", f"{SOUND} --quantization $METHOD"),
    Case("hidden-states", "not returned", "must skipped", SOUND),
    Case(
        "hidden-states",
        "whole and uncached",
        "must passed",
        f"{STATES} --disable-radix-cache --chunked-prefill-size -1",
    ),
    Case("hidden-states", "cached", "must failed", f"{STATES} --chunked-prefill-size -1"),
    Case("hidden-states", "in chunks", "must failed", f"{STATES} --disable-radix-cache --chunked-prefill-size 4096"),
    Case(
        "hidden-states",
        "perhaps in chunks",
        "must errored",
        f"{STATES} --disable-radix-cache --chunked-prefill-size $SIZE",
    ),
    Case("taps", "as declared", "must passed", LOCAL, files=ids(1, 3, 5)),
    Case("taps", "one late", "must failed", LOCAL, files=ids(2, 4, 6)),
    Case(
        "taps",
        "where SGLang does not look",
        "must failed",
        LOCAL,
        files=config(eagle_aux_hidden_state_layer_ids=[1, 3, 5]),
    ),
    Case("taps", "no ids at all", "must failed", LOCAL, files=config()),
    Case("taps", "no numbers", "must failed", LOCAL, files=ids("1", "3")),  # type: ignore[arg-type]
    Case("taps", "a config that is not here", "must skipped", SOUND),
    Case("taps", "from the environment", "must errored", SOUND.replace("toy/draft", "$DRAFT")),
    Case("taps", "versions beyond those read", "must passed, must errored", LOCAL, served(BEYOND), ids(1, 3, 5)),
    Case(
        "taps",
        "by version, none promised",
        "must errored",
        LOCAL,
        toy_contract(target={"architecture": "GptOssForCausalLM"}, drafter={"input": ["low", "mid", "final"]}),
        ids(2, 4, 8),
    ),
    Case(
        "taps",
        "vLLM's two runners",
        "must passed, must failed",
        vllm(EAGLE3 | {"model": "./draft"}),
        served(VLLM, "vllm"),
        ids(2, 4, 6),
    ),
)
CASES = (*COMMAND, *DRAFTING, *REST)
