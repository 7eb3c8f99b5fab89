"""What a target in memory marks. Stand-in: a module that keeps ``layers_to_capture`` where SGLang's models keep them;
the rule of the ids is the dialect's own, which tests/peers holds against the wheels."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.dialects import Dialect, find_dialect
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.guards.captures import check_capture, marked_layers

VERSION = "0.5.23"


class Config:
    """A target's sizes as transformers gives them."""

    def __init__(self, **sizes: int) -> None:
        self.hidden_size, self.num_hidden_layers, self.vocab_size = 64, 8, 256
        self.__dict__.update(sizes)


class Stream(nn.Module):
    def __init__(self, marked: list[int]) -> None:
        super().__init__()
        self.layers_to_capture = marked


class Target(nn.Module):
    """``LlamaForCausalLM`` as far as a guard looks at it."""

    def __init__(self, marked: list[int], **sizes: int) -> None:
        super().__init__()
        self.config, self.model = Config(**sizes), Stream(marked)


class Nested(nn.Module):
    """A multimodal target: the language model, its config and its marks lie one deeper."""

    def __init__(self, marked: list[int]) -> None:
        super().__init__()
        self.config, self.language_model = type("Outer", (), {"text_config": Config()})(), Target(marked)


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


def judge(contract: Contract, model: nn.Module, ids: list[int] | None, version: str = VERSION, **more: Any) -> Finding:
    configured = {"eagle_use_aux_hidden_state": True, "eagle_aux_hidden_state_layer_ids": ids} | more
    (found,) = check_capture(contract, model, configured, version)
    return found


@pytest.mark.parametrize("model", [Target([2, 4, 5]), Nested([2, 4, 5])])
def test_what_the_contract_feeds_passes_and_is_named(contract: Contract, model: nn.Module) -> None:
    found = judge(contract, model, [1, 3, 4])
    assert found.verdict is Verdict.PASSED
    assert "taps R[2] (low), R[4] (mid), R[5] (high)" in found.observed


def test_other_layers_fail_with_the_line_to_write(contract: Contract) -> None:
    found = judge(contract, Target([3, 5, 6]), [2, 4, 5])
    assert found.verdict is Verdict.FAILED
    assert found.observed.endswith("R[3] (no plane of the contract), R[5] (high), R[6] (no plane of the contract)")
    assert found.expected == "boundaries 2 (low), 4 (mid), 5 (high), in this order"
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in found.hint


def test_ids_that_nothing_reads_leave_the_default(contract: Contract) -> None:
    found = judge(contract, Target([2, 4, 5]), None)
    assert found.verdict is Verdict.PASSED
    assert found.observed.startswith("no ids in the draft's")


def test_a_model_that_marks_otherwise_than_the_rule_says_is_left_open(contract: Contract) -> None:
    found = judge(contract, Target([1, 3, 4]), [1, 3, 4])
    assert found.verdict is Verdict.ERRORED
    assert "layers [1, 3, 4] are marked, where sglang" in found.observed
    assert "was read to mark [2, 4, 5]" in found.observed


def test_a_version_that_was_not_read_is_left_open_where_its_source_is_not_here(contract: Contract) -> None:
    found = judge(contract, Target([2, 4, 5]), [1, 3, 4], "0.6.0")
    assert found.verdict is Verdict.ERRORED
    assert "layers [2, 4, 5] are marked" in found.observed


def test_marks_that_cannot_be_read_are_left_open(contract: Contract) -> None:
    assert marked_layers(Target([])) is None
    assert judge(contract, Target([]), [1, 3, 4]).verdict is Verdict.ERRORED


def test_a_target_that_captures_nothing_fails(contract: Contract) -> None:
    found = judge(contract, Target([]), None, eagle_use_aux_hidden_state=False)
    assert found.verdict is Verdict.FAILED
    assert found.observed.startswith("no auxiliary state is captured")


def test_another_target_fails_before_its_ids_are_read(contract: Contract) -> None:
    found = judge(contract, Target([2, 4, 5], num_hidden_layers=9), [1, 3, 4])
    assert found.verdict is Verdict.FAILED
    assert found.observed == "another target is served, with num_hidden_layers 9 (declared 8)"


def test_the_ranks_of_a_pipeline_that_capture_nothing_are_not_judged(contract: Contract) -> None:
    model = Target([])
    model.pp_group = type("Group", (), {"is_last_rank": False})()
    assert check_capture(contract, model, {"eagle_use_aux_hidden_state": True}, VERSION) == []


def test_the_story_on_kimi_with_the_ids_that_were_served_and_those_that_cannot_be() -> None:
    trained = load_contract("kimi-k2.5-eagle3@2.0.0")
    sizes = {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": trained.target.vocab_size}
    dialect = find_dialect("sglang", VERSION, trained.target.architecture)
    assert isinstance(dialect, Dialect)
    marked = list(dialect.resolve([2, 30, 58], 61).boundaries)
    found = judge(trained, Target(marked, **sizes), [2, 30, 58])
    assert found.verdict is Verdict.FAILED
    assert found.expected == "boundaries 0 (embed), 3 (low), 31 (mid), in this order"
    assert "eagle_aux_hidden_state_layer_ids" in found.hint


def test_the_story_told_by_a_plus_one_that_this_version_does_not_add() -> None:
    """[-1, 2, 30], right for an engine that adds one: here the embedding is never met, and the packer stops it."""
    trained = load_contract("kimi-k2.5-eagle3@2.0.0")
    sizes = {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": trained.target.vocab_size}
    found = judge(trained, Target([-1, 2, 30], **sizes), [-1, 2, 30])
    assert found.verdict is Verdict.FAILED
    assert "crashes at the first forward, captured 2 of 3 aux hidden states" in found.observed
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 3, 31]}' in found.hint
