"""SGLang's dialects, by model class and version, as read in the wheels of 0.5.9 to 0.5.23.

``_HISTORIES`` tells for each model file what changed, and in which release. Common to all: before 0.5.11
CUDA graphs were captured with the default ids whatever the config said (cuda_graph_runner.py, mended by
sglang PR #22836), and before 0.5.12 the Llama drafter's fc took three planes whatever the list's length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from packaging.version import Version

from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.sglang_rules import Capture, SglangRule, Shift
from eagle3_contracts.dialects.unsupported import UnsupportedRule

SGLANG = Tool(
    name="sglang",
    purpose="serve",
    read=(
        *("0.5.9", "0.5.10", "0.5.10.post1", "0.5.11", "0.5.12", "0.5.12.post1", "0.5.13", "0.5.13.post1"),
        *("0.5.14", "0.5.15", "0.5.15.post1", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21"),
        *("0.5.22", "0.5.23"),
    ),
    takes="the draft's config.json: eagle_config.eagle_aux_hidden_state_layer_ids",
)
FIRST, AFTER_LAST = "0.5.9", "0.5.24"
_GRAPHS_KEEP_THE_LIST = "0.5.11"
_FC_FOLLOWS_THE_LIST = "0.5.12"

Change = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class History:
    """How the rule of one model file came about.

    ``since``: the release whose class first has a setter; before it EAGLE-3 cannot start. ``rule``: the rule
    then. ``changes``: by release, the fields of the rule that changed.
    """

    architectures: tuple[str, ...]
    file: str
    rule: SglangRule
    since: str = FIRST
    changes: dict[str, Change] = field(default_factory=dict)


_FINAL: Change = {"capture": Capture.LAYER_INPUTS_AND_FINAL}
_SHIFTS_IF_FIRST_IS_1: Change = {"shift": Shift.PLUS_ONE_IF_FIRST_IS_1}
_SHIFTS_UNLESS_N: Change = {"shift": Shift.PLUS_ONE_UNLESS_MAXIMUM_IS_N}
_EMBEDDING: Change = {"embedding": True}
_NO_EMBEDDING = SglangRule(embedding=False)
_DEEPSEEK: dict[str, Change] = {
    "0.5.13": _SHIFTS_IF_FIRST_IS_1,
    "0.5.14": _EMBEDDING,
    "0.5.17": {"packed": True},
}

_HISTORIES: tuple[History, ...] = (
    History(
        architectures=("LlamaForCausalLM", "MistralForCausalLM", "Phi3ForCausalLM"),
        file="llama.py",
        rule=_NO_EMBEDDING,
        changes={"0.5.22": _EMBEDDING},
    ),
    History(
        architectures=("Llama4ForCausalLM", "Llama4ForConditionalGeneration"),
        file="llama4.py",
        rule=_NO_EMBEDDING,
        changes={"0.5.21": _EMBEDDING},
    ),
    History(architectures=("Qwen2ForCausalLM",), file="qwen2.py", rule=SglangRule()),
    History(architectures=("Qwen2_5_VLForConditionalGeneration",), file="qwen2_5_vl.py", rule=SglangRule()),
    History(architectures=("Qwen3ForCausalLM",), file="qwen3.py", rule=SglangRule()),
    History(architectures=("Qwen3VLForConditionalGeneration",), file="qwen3_vl.py", rule=SglangRule(), since="0.5.11"),
    History(
        architectures=("Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM"),
        file="qwen2_moe.py",
        rule=SglangRule(capture=Capture.MARKED_LAYERS),
    ),
    History(
        architectures=("Glm4MoeForCausalLM",), file="glm4_moe.py", rule=_NO_EMBEDDING, changes={"0.5.21": _EMBEDDING}
    ),
    History(
        architectures=("Glm4MoeLiteForCausalLM",),
        file="glm4_moe_lite.py",
        rule=_NO_EMBEDDING,
        changes={"0.5.13": _SHIFTS_IF_FIRST_IS_1, "0.5.21": _EMBEDDING},
    ),
    History(
        architectures=("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"),
        file="deepseek_v2.py",
        rule=_NO_EMBEDDING,
        changes=_DEEPSEEK,
    ),
    History(
        architectures=("KimiK25ForConditionalGeneration",),
        file="kimi_k25.py",
        rule=_NO_EMBEDDING,
        since="0.5.10",
        changes=_DEEPSEEK,
    ),
    History(
        architectures=("GptOssForCausalLM",),
        file="gpt_oss.py",
        rule=_NO_EMBEDDING,
        changes={"0.5.17": {**_SHIFTS_UNLESS_N, **_EMBEDDING, **_FINAL}},
    ),
    History(
        architectures=("MiniMaxM2ForCausalLM",),
        file="minimax_m2.py",
        rule=_NO_EMBEDDING,
        changes={"0.5.11": _EMBEDDING},
    ),
    History(
        architectures=("MiniMaxM3SparseForCausalLM",),
        file="minimax_m3.py",
        rule=SglangRule(capture=Capture.NOTHING),
        since="0.5.16",
        changes={"0.5.18": {"capture": Capture.LAYER_INPUTS}, "0.5.23": _FINAL},
    ),
    History(
        architectures=("MiniMaxM3SparseForConditionalGeneration",),
        file="minimax_m3_vl.py",
        rule=SglangRule(shifted_default=True),
        since="0.5.18",
        changes={"0.5.23": _FINAL},
    ),
    History(
        architectures=("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        file="gemma3_causal.py",
        rule=SglangRule(capture=Capture.LAYER_INPUTS_AND_FINAL),
        since="0.5.12",
        changes={"0.5.17": {"state": "branch"}},
    ),
    History(
        architectures=("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"),
        file="gemma4_causal.py",
        rule=SglangRule(capture=Capture.LAYER_INPUTS_AND_FINAL),
        since="0.5.12",
    ),
)


def cut_history(history: History) -> Iterator[Dialect]:
    """Cut a history at each release where something changed; before ``since`` EAGLE-3 cannot start."""
    starts = {history.since, *history.changes, _GRAPHS_KEEP_THE_LIST, _FC_FOLLOWS_THE_LIST}
    ordered = sorted((release for release in starts if Version(release) >= Version(history.since)), key=Version)
    common_to_all = {"tool": SGLANG, "architectures": history.architectures}
    source = f"sglang/srt/models/{history.file}"
    if history.since != FIRST:
        missing = UnsupportedRule("no model class of this name has set_eagle3_layers_to_capture")
        yield Dialect(**common_to_all, versions=f">={FIRST},<{history.since}", rule=missing, source=source)  # type: ignore[arg-type]
    rule = history.rule
    for release, after in pairwise([*ordered, AFTER_LAST]):
        rule = replace(rule, **history.changes.get(release, {}))  # type: ignore[arg-type]
        limited = replace(
            rule,
            planes=3 if Version(release) < Version(_FC_FOLLOWS_THE_LIST) else None,
            graphs_use_default=Version(release) < Version(_GRAPHS_KEEP_THE_LIST),
        )
        yield Dialect(**common_to_all, versions=f">={release},<{after}", rule=limited, source=source)  # type: ignore[arg-type]


DIALECTS = tuple(dialect for history in _HISTORIES for dialect in cut_history(history))
