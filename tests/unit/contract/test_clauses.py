"""The ``contract.*`` clauses: what each says of a document that keeps it, and of one that does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clause, clauses_of
from eagle3_contracts.run import judge_clause
from support.documents import EXAMPLES, GONE, make_contract
from support.snapshots import compare_snapshot, list_unused, tell_findings

SNAPSHOTS = Path(__file__).with_name("clause_snapshots")
KIMI = EXAMPLES / "kimi-mla.toml"
SGLANG: dict[str, Any] = {
    "serving.engines": {"sglang": ">=0.5.11,<0.5.24"},
    "drafter.architecture": "LlamaForCausalLMEagle3",
}
PLAIN: dict[str, Any] = {**SGLANG, "drafter.residual": "pre_norm", "drafter.recurrent": "pre_norm", "drafter.fc": {}}


@dataclass(frozen=True)
class Case:
    """A document, and the verdicts of one clause on it."""

    clause: str
    title: str
    verdicts: str
    changes: dict[str, Any] = field(default_factory=dict)
    base: Path = EXAMPLES / "llama.toml"

    def judge(self) -> list[Finding]:
        """Judge the document."""
        contract = make_contract(self.changes, base=self.base)
        return judge_clause(clause(f"contract.{self.clause}"), contract, contract)


CASES = (
    Case("final-state", "boundary n", "passed"),
    Case("final-state", "no last hidden state", "skipped", {"drafter.last_hidden": "none"}),
    Case("final-state", "an auxiliary plane", "failed", {"drafter.last_hidden": "high"}),
    Case("final-state", "without the final norm", "failed", {"drafter.last_hidden_norm": False}),
    Case("final-state", "the final norm twice", "failed", {"drafter.last_hidden": "final_normed"}),
    Case("input-stored", "everything", "passed"),
    Case("input-stored", "the other final state", "passed", {"storage.planes": ["low", "mid", "high", "final_normed"]}),
    Case("input-stored", "an input that is not stored", "failed", {"storage.planes": ["low", "high", "final"]}),
    Case(
        "input-stored",
        "two formats without",
        "failed failed",
        {"storage.formats.modelopt": ["low", "mid", "high"], "storage.formats.specforge": ["mid", "final_normed"]},
    ),
    Case("input-stored", "no last hidden state", "passed", {"drafter.last_hidden": "none"}),
    Case("planes-used", "all", "passed"),
    Case("planes-used", "a plane that nothing names", "failed", {"planes.extra": {"name": "extra", "boundary": 5}}),
    Case("format-planes", "as the tools write", "passed"),
    Case("format-planes", "no format", "skipped", {"storage.formats": GONE}),
    Case(
        "format-planes",
        "another final state",
        "failed",
        {"storage.formats.specforge": ["low", "mid", "high", "final"]},
    ),
    Case(
        "format-planes",
        "another order",
        "failed",
        {"storage.formats.vllm-connector": ["mid", "low", "high", "final"]},
    ),
    Case(
        "format-planes",
        "an order that the tool keeps",
        "passed",
        {"storage.formats.angelslim": ["mid", "low", "high", "final_normed"]},
    ),
    Case("engine-ids", "one list", "passed", SGLANG),
    Case("engine-ids", "no engine", "skipped", {"serving": GONE}),
    Case("engine-ids", "engines without entries", "skipped", {"serving.engines": {}}),
    Case("engine-ids", "an engine nobody read", "errored", {"serving.engines": {"tokenspeed": ">=1"}}),
    Case("engine-ids", "versions nobody read", "errored", {"serving.engines": {"sglang": ">=0.5.20"}}),
    Case("engine-ids", "versions before those read", "errored", {"serving.engines": {"sglang": "<0.4"}}),
    Case("engine-ids", "two engines, one unread", "passed errored", {"serving.engines.tokenspeed": ">=1"}),
    Case(
        "engine-ids",
        "a boundary out of reach",
        "failed",
        {**SGLANG, "drafter.input": ["low", "mid", "final"]},
    ),
    Case("engine-ids", "an order out of reach", "failed", {"drafter.input": ["high", "low", "mid"]}),
    Case(
        "engine-ids",
        "out of reach for two reasons",
        "failed",
        {"serving": {"engines": {"sglang": ">=0.5.9,<0.5.24"}}, "planes.embed.boundary": 60},
        KIMI,
    ),
    Case(
        "engine-ids",
        "another list by version",
        "failed",
        {
            "serving": {"engines": {"sglang": ">=0.5.12,<0.5.24"}},
            "planes.embed.boundary": 3,
        },
        KIMI,
    ),
    Case(
        "engine-ids",
        "ids that graphs ignore",
        "failed",
        {"serving.engines": {"sglang": ">=0.5.9,<0.5.24"}, "planes.high.boundary": 28},
    ),
    Case("engine-features", "all honoured", "passed", PLAIN),
    Case("engine-features", "an engine that honours the norms", "passed"),
    Case("engine-features", "no engine", "skipped", {"serving": GONE}),
    Case("engine-features", "an engine nobody read", "errored", {"serving.engines": {"tensorrt-llm": "==1.2.1"}}),
    Case("engine-features", "versions nobody read", "errored", {**PLAIN, "serving.engines": {"sglang": ">=0.5.20"}}),
    Case(
        "engine-features", "the version after those read", "errored", {"serving.engines": {"vllm": ">=0.22,<=0.33.1"}}
    ),
    Case("engine-features", "versions before those read", "errored", {"serving.engines": {"sglang": "<0.4"}}),
    Case("engine-features", "norms that older versions drop", "failed", {**SGLANG, "drafter.residual": "pre_norm"}),
    Case(
        "engine-features",
        "norms in versions that know them",
        "passed",
        {**SGLANG, "serving.engines": {"sglang": ">=0.5.17,<0.5.24"}, "drafter.residual": "pre_norm"},
    ),
    Case(
        "engine-features",
        "a norm per plane before its release",
        "failed",
        {**PLAIN, "drafter.fc": {"input_norm": "per_plane"}},
    ),
    Case("engine-features", "the residual of another trainer", "failed", {**PLAIN, "drafter.residual": "post_norm"}),
    Case(
        "engine-features",
        "a class that is not there",
        "failed",
        {**PLAIN, "drafter.architecture": "Eagle3LlamaForCausalLM"},
    ),
    Case("engine-features", "no class named", "passed", {**PLAIN, "drafter.architecture": GONE}),
    Case("engine-features", "norms that vLLM's Llama lacks", "failed", {"drafter.attention.qk_norm": True}),
    Case(
        "engine-features",
        "norms that vLLM's Qwen3 has",
        "passed",
        {"drafter.attention.qk_norm": True, "drafter.architecture": "Eagle3Qwen3ForCausalLM"},
    ),
    Case("engine-features", "its own embedding", "failed", {**PLAIN, "drafter.embedding": "own"}),
    Case(
        "engine-features",
        "norms and biases of attention",
        "failed",
        {
            **PLAIN,
            "drafter.attention.qk_norm": True,
            "drafter.attention.bias": True,
        },
    ),
    Case("engine-features", "an fc that is skipped", "failed", {**PLAIN, "drafter.input": ["low"]}),
    Case("engine-features", "a bias that vLLM refuses", "failed", {"drafter.fc.bias": True}),
    Case(
        "engine-features",
        "what no engine does",
        "failed failed",
        {"serving": {"engines": {"sglang": ">=0.5.11,<0.5.24", "vllm": ">=0.22,<=0.33.0"}}, "drafter.head_norm": False},
        KIMI,
    ),
    Case("tolerance", "all dtypes", "passed"),
    Case("tolerance", "none for the target", "failed", {"tolerance.bfloat16": GONE}),
    Case("tolerance", "none for a format", "failed", {"tolerance.float8_e4m3fn": GONE, "tolerance.float32": GONE}),
    Case("positions", "within", "passed"),
    Case("positions", "as far as they go", "passed", {"drafter.max_position": 8192, "serving.context_length": 8192}),
    Case("positions", "no context length", "skipped", {"serving.context_length": GONE}),
    Case("positions", "no serving", "skipped", {"serving": GONE}),
    Case("positions", "beyond", "failed", {"drafter.max_position": 4096}),
)


def name(case: Case) -> str:
    return f"{case.clause}, {case.title}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_clause_judges_a_document(case: Case) -> None:
    assert " ".join(item.verdict for item in case.judge()) == case.verdicts


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_message_stands_alone(case: Case) -> None:
    for item in case.judge():
        assert (item.clause, item.subject) == (f"contract.{case.clause}", "document")
        assert item.level is Level.SHOULD
        assert item.observed
        if item.verdict is Verdict.FAILED:
            assert item.hint
    compare_snapshot(SNAPSHOTS / f"{name(case)}.txt", tell_findings(case.judge()) + "\n")


def test_every_clause_is_seen_to_pass_and_to_fail() -> None:
    seen = {(case.clause, verdict) for case in CASES for verdict in case.verdicts.split()}
    for item in clauses_of("contract"):
        short = item.id.removeprefix("contract.")
        assert {(short, "passed"), (short, "failed")} <= seen


def test_every_snapshot_is_compared() -> None:
    assert list_unused(SNAPSHOTS, (f"{name(case)}.txt" for case in CASES)) == []
