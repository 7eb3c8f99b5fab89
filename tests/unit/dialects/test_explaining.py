"""What ``explain`` says of a contract: the shape that others read, and the story's versions."""

from __future__ import annotations

import json

import pytest

from eagle3_contracts.contract import Contract, Serving, list_catalog, load_contract
from eagle3_contracts.dialects.explaining import explain

FIELDS = {"tool", "versions", "architecture", "ids", "alternatives", "stable", "reason"}
EVERY = [f"{name}@{version}" for name, versions in list_catalog().items() for version in versions]


def rows_of(contract: Contract, tool: str, purpose: str = "serve") -> list[dict]:
    return [row for row in explain(contract)["dialects"] if row["tool"] == tool and row["purpose"] == purpose]


def serving(contract: Contract, **engines: str) -> Contract:
    return contract.model_copy(update={"serving": Serving(engines=engines)})


@pytest.fixture(scope="module")
def trained() -> Contract:
    return load_contract("kimi-k2.5-eagle3@2.0.0")


@pytest.mark.parametrize("reference", EVERY)
def test_every_contract_of_the_catalog_can_be_explained(reference: str) -> None:
    explained = json.loads(json.dumps(explain(load_contract(reference))))
    assert set(explained) == {"contract", "boundaries", "drafter_input", "dialects"}
    assert {row["tool"] for row in explained["dialects"]} >= {
        "sglang",
        "vllm",
        "tensorrt-llm",
        "speculators",
        "specforge",
    }
    for row in explained["dialects"]:
        assert set(row) >= FIELDS
        assert row["ids"] is not None or row["reason"]
        assert row["stable"] is None or row["stable"] in [row["ids"], *row["alternatives"]]


def test_the_story_as_it_was_trained(trained: Contract) -> None:
    explained = explain(trained)
    assert explained["contract"] == "kimi-k2.5-eagle3@2.0.0"
    assert explained["boundaries"] == {"embed": 0, "low": 3, "mid": 31, "high": 59}
    assert explained["drafter_input"] == [0, 3, 31]
    by_range = {row["versions"]: row for row in rows_of(trained, "sglang")}
    assert by_range[">=0.5.9,<0.5.10"]["ids"] is None
    assert "residual that does not exist before layer 0" in by_range[">=0.5.10,<0.5.14"]["reason"]
    served = by_range[">=0.5.17,<0.5.24"]
    assert served["served"]
    assert served["ids"] == served["stable"] == [0, 3, 31]
    assert len(served["alternatives"]) == 5
    (vllm,) = rows_of(trained, "vllm")
    assert vllm["ids"] is None
    assert "R[0] cannot be captured" in vllm["reason"]


def test_stable_is_judged_over_the_versions_that_the_contract_serves() -> None:
    contract = load_contract("kimi-k2.5-eagle3@1.0.0")
    both = [row for row in rows_of(serving(contract, sglang=">=0.5.11,<0.5.24"), "sglang") if row["served"]]
    assert {row["stable"] is None for row in both} == {True}
    assert all("no one list means it in all of these versions" in row["reason"] for row in both)
    late = [row for row in rows_of(serving(contract, sglang=">=0.5.13,<0.5.24"), "sglang") if row["served"]]
    assert {tuple(row["stable"]) for row in late} == {(3, 31, 59)}


@pytest.mark.parametrize(("versions", "unread"), [(">=0.5.20", ">=0.5.24"), (">=0.5.0,<0.5.20", "<0.5.9")])
def test_a_range_that_reaches_past_what_was_read_gets_a_row_that_says_so(
    trained: Contract, versions: str, unread: str
) -> None:
    (row,) = [
        row for row in rows_of(serving(trained, sglang=versions), "sglang") if row["reason"].startswith("not verified")
    ]
    assert row["versions"] == unread
    assert row["served"]
    assert row["ids"] is None


def test_an_architecture_that_was_not_read_is_not_verified(trained: Contract) -> None:
    target = trained.target.model_copy(update={"architecture": "NewForCausalLM"})
    contract = trained.model_copy(update={"target": target})
    (row,) = rows_of(contract, "sglang")
    assert row["reason"].startswith("not verified")
    assert row["ids"] is None
    (everywhere,) = rows_of(contract, "transformers", "capture")
    assert everywhere["ids"] == [0, 3, 31, 59]


def test_capture_rows_ask_for_the_stored_planes() -> None:
    contract = load_contract("kimi-k2.5-eagle3@3.0.0")
    by_setting = {
        row["setting"]: row["ids"] for row in rows_of(contract, "speculators", "capture") if "0.10" in row["versions"]
    }
    assert by_setting == {"": [3, 31, 59], "--no-include-last-layer": [3, 31, 59, 61]}
    (transformers,) = rows_of(contract, "transformers", "capture")
    assert "hidden_states[61] is post-norm" in transformers["reason"]


def test_a_final_state_that_a_tool_stores_unasked_takes_no_id() -> None:
    """gpt-oss stores a post-norm final state in SpecForge's format, which SpecForge writes whatever its ids are."""
    row = rows_of(load_contract("gpt-oss-120b-eagle3@1.0.0"), "specforge", "capture")[-1]
    assert row["ids"] == [1, 17, 33]
    assert "stored beside them, unasked" in row["reason"]


def test_trainers_that_run_the_target_take_their_targets_from_its_final_state(trained: Contract) -> None:
    for row in rows_of(trained, "modelopt", "train"):
        assert "not from boundary 59 (high)" in row["reason"]


def of_architecture(contract: Contract, architecture: str) -> Contract:
    return contract.model_copy(
        update={"target": contract.target.model_copy(update={"architecture": architecture}), "serving": None}
    )


TAKES = "the draft's config.json: eagle_aux_hidden_state_layer_ids (see config_keys for the runner's fallbacks)"
NOTHING: dict[str, object] = {"ids": None, "alternatives": [], "stable": None, "default": False}


def test_a_row_has_every_field() -> None:
    (row,) = rows_of(load_contract("kimi-k2.5-eagle3@1.0.0"), "vllm")
    assert row == {
        "tool": "vllm",
        "purpose": "serve",
        "versions": ">=0.22,<0.34",
        "setting": "",
        "architecture": "KimiK25ForConditionalGeneration",
        "ids": [3, 31, 59],
        "alternatives": [[3, 59, 31], [31, 3, 59], [31, 59, 3], [59, 3, 31], [59, 31, 3]],
        "stable": [3, 31, 59],
        "default": False,
        "served": False,
        "takes": TAKES,
        "last_read": "0.33.0",
        "reason": "",
    }


@pytest.mark.parametrize("served", [True, False])
def test_an_unread_architecture_has_one_row_that_says_whether_the_contract_serves_it(trained, *, served: bool) -> None:
    contract = of_architecture(trained, "NewForCausalLM")
    (row,) = rows_of(serving(contract, vllm=">=0.22") if served else contract, "vllm")
    reason = "not verified: the rule for NewForCausalLM was not read, last read vllm 0.33.0"
    named = {"tool": "vllm", "purpose": "serve", "architecture": "NewForCausalLM", "takes": TAKES}
    assert row == {**named, "versions": "", "setting": "", "last_read": "0.33.0", **NOTHING} | {
        "served": served,
        "reason": reason,
    }


@pytest.mark.parametrize(("versions", "served"), [(">=0.22", True), ("==0.22.0", True), (">=0.24", False), ("", False)])
def test_releases_that_were_not_read_for_an_architecture_have_a_row(trained, versions: str, *, served: bool) -> None:
    contract = of_architecture(trained, "MiniMaxM3SparseForCausalLM")
    contract = serving(contract, vllm=versions) if versions else contract
    rows = [row for row in rows_of(contract, "vllm") if "0.22.0" in row["versions"]]
    (row,) = rows
    assert row["reason"] == "not verified: the rule for MiniMaxM3SparseForCausalLM was not read in vllm 0.22.0"
    assert (row["versions"], row["served"], row["ids"]) == ("0.22.0", served, None)
    assert row["architecture"] == "MiniMaxM3SparseForCausalLM"


def test_several_releases_that_were_not_read_stand_in_one_row(trained: Contract) -> None:
    contract = of_architecture(trained, "DeepseekV32ForCausalLM")
    rows = rows_of(contract, "speculators", "capture")
    assert rows[-1]["versions"] == "0.5.0, 0.6.0, 0.7.0, 0.8.0, 0.8.1, 0.9.0"
    assert rows[-1]["reason"].endswith("was not read in speculators 0.5.0, 0.6.0, 0.7.0, 0.8.0, 0.8.1, 0.9.0")


def test_a_range_beyond_what_was_read_is_told_whole(trained: Contract) -> None:
    *_, row = rows_of(serving(trained, sglang=">=0.5.20"), "sglang")
    assert row["reason"] == "not verified for >=0.5.24, last read 0.5.23: the contract serves >=0.5.20"
    assert (row["tool"], row["architecture"]) == ("sglang", trained.target.architecture)
    assert row == {**row, **NOTHING, "served": True, "versions": ">=0.5.24"}


@pytest.mark.parametrize("tool", ["eagle", "torchspec"])
def test_a_tool_without_releases_is_beyond_nothing(trained: Contract, tool: str) -> None:
    """A contract may name any engine; these are used from their repositories, so no range says what was not read."""
    contract = serving(of_architecture(trained, "LlamaForCausalLM"), **{tool: ">=1"})
    rows = rows_of(contract, tool, "train")
    assert {row["versions"] for row in rows} == {""}
    assert not any(row["served"] for row in rows), "it only trains"


def test_rows_are_served_where_a_serving_tools_versions_meet_the_contracts(trained: Contract) -> None:
    both = serving(trained, **{"sglang": ">=0.5.14,<0.5.17", "tensorrt-llm": ">=1.0"})
    assert {row["versions"]: row["served"] for row in rows_of(both, "sglang")} == {
        ">=0.5.9,<0.5.10": False,
        ">=0.5.10,<0.5.14": False,
        ">=0.5.14,<0.5.17": True,
        ">=0.5.17,<0.5.24": False,
    }
    by_purpose = {
        purpose: [row["served"] for row in rows_of(both, "tensorrt-llm", purpose) if row["versions"] == ">=1.0,<1.3"]
        for purpose in ("serve", "capture")
    }
    assert by_purpose == {"serve": [True], "capture": [False]}
    nowhere = rows_of(trained.model_copy(update={"serving": None}), "sglang")
    assert not any(row["served"] for row in nowhere)


def test_the_list_to_write_down_is_not_among_the_alternatives() -> None:
    for row in explain(load_contract("kimi-k2.5-eagle3@1.0.0"))["dialects"]:
        assert row["ids"] not in row["alternatives"]
        assert row["stable"] in (None, row["ids"])
        assert len({tuple(ids) for ids in row["alternatives"]}) == len(row["alternatives"])


def test_a_tool_that_takes_no_ids_and_captures_just_this_says_so() -> None:
    reference = of_architecture(load_contract("llama-3.3-70b-instruct-eagle3"), "LlamaForCausalLM")
    (row,) = rows_of(reference, "eagle", "train")
    assert row["default"]
    assert row["ids"] is None
    assert row["reason"].startswith("it takes no ids, and captures just this")


def test_ranges_that_say_the_same_are_joined_only_where_they_adjoin() -> None:
    llama = of_architecture(load_contract("llama-3.3-70b-instruct-eagle3"), "LlamaForCausalLM")
    joined = [row["versions"] for row in rows_of(llama, "sglang")]
    assert joined == [">=0.5.9,<0.5.24"], "the reference layout is stable since the first release"
    by_setting = [(row["setting"], row["versions"]) for row in rows_of(llama, "speculators", "capture")]
    assert [versions for setting, versions in by_setting if setting] == [">=0.5,<0.10"]
