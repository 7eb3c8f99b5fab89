"""How ranges of versions are made: a model's history cut at each release, and tools that run another tool."""

from __future__ import annotations

from collections import Counter

import pytest

from eagle3_contracts.dialects.over_vllm import OverVllmRule, newest_rules
from eagle3_contracts.dialects.sglang import AFTER_LAST, SGLANG, History, cut_history
from eagle3_contracts.dialects.sglang_rules import Capture, SglangRule, Shift
from eagle3_contracts.dialects.specforge import ThroughSglangRule, through_sglang
from eagle3_contracts.dialects.speculators import as_listed, launched, with_last
from eagle3_contracts.dialects.unsupported import UnsupportedRule
from eagle3_contracts.dialects.vllm import DEEPSEEK, MINIMAX_M3, MIXIN, WITHOUT

NAMES = ("FirstForCausalLM", "SecondForCausalLM")
EARLY, FIXED = {"planes": 3, "graphs_use_default": True}, {"planes": 3}
"""What the drafter and the graphs of early releases bring with them, before 0.5.11 and before 0.5.12."""


def history(since: str = "0.5.9", **changes: dict[str, object]) -> History:
    by_release = {release.removeprefix("in_").replace("_", "."): change for release, change in changes.items()}
    return History(architectures=NAMES, file="first.py", rule=SglangRule(), since=since, changes=by_release)


def rule(**fields: object) -> SglangRule:
    return SglangRule(**fields)  # type: ignore[arg-type]


FINAL, FIRST_IS_1 = {"capture": Capture.LAYER_INPUTS_AND_FINAL}, {"shift": Shift.PLUS_ONE_IF_FIRST_IS_1}
MISSING = UnsupportedRule("no model class of this name has set_eagle3_layers_to_capture")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            history(),
            [
                (">=0.5.9,<0.5.11", rule(**EARLY)),
                (">=0.5.11,<0.5.12", rule(**FIXED)),
                (f">=0.5.12,<{AFTER_LAST}", rule()),
            ],
        ),
        (
            history(since="0.5.13"),
            [(">=0.5.9,<0.5.13", MISSING), (f">=0.5.13,<{AFTER_LAST}", rule())],
        ),
        (
            history(since="0.5.10"),
            [
                (">=0.5.9,<0.5.10", MISSING),
                (">=0.5.10,<0.5.11", rule(**EARLY)),
                (">=0.5.11,<0.5.12", rule(**FIXED)),
                (f">=0.5.12,<{AFTER_LAST}", rule()),
            ],
        ),
        (
            history(since="0.5.12", in_0_5_20=FIRST_IS_1, in_0_5_17=FINAL),
            [
                (">=0.5.9,<0.5.12", MISSING),
                (">=0.5.12,<0.5.17", rule()),
                (">=0.5.17,<0.5.20", rule(**FINAL)),
                (f">=0.5.20,<{AFTER_LAST}", rule(**FINAL, **FIRST_IS_1)),
            ],
        ),
        (
            history(in_0_5_11=FINAL),
            [
                (">=0.5.9,<0.5.11", rule(**EARLY)),
                (">=0.5.11,<0.5.12", rule(**FIXED, **FINAL)),
                (f">=0.5.12,<{AFTER_LAST}", rule(**FINAL)),
            ],
        ),
    ],
    ids=["never changed", "came late", "came early", "changed twice", "changed where all did"],
)
def test_a_history_is_cut_at_each_release_where_something_changed(told: History, expected: list) -> None:  # type: ignore[type-arg]
    found = list(cut_history(told))
    assert [(dialect.versions, dialect.rule) for dialect in found] == expected
    for dialect in found:
        assert dialect.tool is SGLANG
        assert dialect.architectures == NAMES
        assert dialect.source == "sglang/srt/models/first.py"
        assert (dialect.setting, dialect.purpose, dialect.beside) == ("", None, None)


def test_the_newest_vllm_is_what_its_capture_tools_run() -> None:
    found = dict(newest_rules())
    assert list(found) == [MIXIN, MINIMAX_M3, ("Qwen3NextForCausalLM",), DEEPSEEK, WITHOUT]
    assert found[DEEPSEEK].reach(3)[-1].state == "pre_norm", "the rule since 0.25, which has the final state"


def test_speculators_has_each_rule_with_and_without_the_last_layer_and_checks_ids_since_0_8() -> None:
    found = list(launched())
    assert len(found) == 4 * len(newest_rules())
    seen = Counter()
    for dialect in found:
        assert isinstance(dialect.rule, OverVllmRule)
        assert dialect.rule.inner == dict(newest_rules())[dialect.architectures]
        assert dialect.tool.name == "speculators"
        assert "launch_vllm.py" in dialect.source
        made = (dialect.rule.translate, dialect.rule.appends, dialect.rule.validated, dialect.rule.shift)
        seen[dialect.versions, dialect.setting, made] += 1
    assert seen == dict.fromkeys(
        [
            (">=0.5,<0.8", "", (with_last, True, False, 0)),
            (">=0.5,<0.8", "--no-include-last-layer", (as_listed, False, False, 0)),
            (">=0.8,<0.10", "", (with_last, True, True, 0)),
            (">=0.8,<0.10", "--no-include-last-layer", (as_listed, False, True, 0)),
        ],
        len(newest_rules()),
    )


def test_specforge_takes_over_what_sglang_0_5_14_says_of_each_architecture() -> None:
    found = {dialect.architectures: dialect for dialect in through_sglang()}
    deepseek = found["DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"]
    assert deepseek.rule == ThroughSglangRule(inner=rule(**FIRST_IS_1))
    assert deepseek.source == "specforge/algorithms/model_providers.py over sglang/srt/models/deepseek_v2.py 0.5.14"
    assert {dialect.tool.name for dialect in found.values()} == {"specforge"}
    assert {dialect.versions for dialect in found.values()} == {">=0.2,<0.3"}
    assert {dialect.beside for dialect in found.values()} == {"post_norm"}
    gpt_oss = found["GptOssForCausalLM",].rule
    assert gpt_oss == ThroughSglangRule(inner=rule(embedding=False)), "before 0.5.17, which is not the pin"
