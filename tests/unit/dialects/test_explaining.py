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
