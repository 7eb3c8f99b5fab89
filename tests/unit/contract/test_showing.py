"""A contract in words, in JSON-ready values, and as the text that reads back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, list_catalog, load_contract
from eagle3_contracts.contract.describing import describe_catalog, describe_contract, render_contract
from eagle3_contracts.contract.loading import parse_contract
from eagle3_contracts.contract.writing import write_contract
from support.documents import EXAMPLES, make_contract

DOCUMENTS: list[Any] = [
    *(f"{name}@{version}" for name, versions in list_catalog().items() for version in versions),
    *sorted(EXAMPLES.glob("*.toml")),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_written_contract_reads_back(document: str | Path) -> None:
    contract = load_contract(document)
    again = parse_contract(write_contract(contract))
    assert again == contract
    assert again.digest == contract.digest


def test_a_written_contract_leaves_defaults_out() -> None:
    text = write_contract(make_contract({"drafter.layers": 1, "drafter.fc": {"bias": False}}))
    assert "layers = 1" not in text
    assert "fc = {}" in text


def test_texts_that_toml_must_escape_read_back() -> None:
    text = 'quotes " and \\ backslash, tab \t, lines\nand \u00e9\U0001f600 \u2028'
    contract = make_contract({"summary": text, "sources": [text]})
    assert parse_contract(write_contract(contract)).summary == text


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_description_is_json_and_leaves_nothing_out(document: str | Path) -> None:
    contract = load_contract(document)
    said = describe_contract(contract)
    assert json.loads(json.dumps(said)) == said
    assert Contract.model_validate_json(json.dumps(said["document"])) == contract
    assert said["contract"] == contract.reference
    assert said["digest"] == contract.digest


def test_a_description_writes_defaults_out() -> None:
    said = describe_contract(load_contract("kimi-k2.5-eagle3@2.0.0"))
    assert said["drafter"] == {
        "input": ["embed", "low", "mid"],
        "input_boundaries": [0, 3, 31],
        "input_width": 21504,
        "last_hidden": "high",
        "last_hidden_normed": True,
        "embedding": "target",
        "lm_head": "own",
    }
    assert said["storage"]["formats"]["hs-connectors-fp8"] == {
        "planes": ["embed", "low", "mid", "high"],
        "dtype": "float8_e4m3fn",
        "declared": False,
        "final_state_by_habit": "pre_norm",
    }
    assert said["planes"][1]["place"] == "boundary 3 (output of layer 2)"
    assert said["planes"][1]["norm_median"] == [12.0, 111.0]


def test_the_story_in_words() -> None:
    lines = render_contract(load_contract("kimi-k2.5-eagle3@2.0.0"))
    assert lines[0].startswith("kimi-k2.5-eagle3@2.0.0  As it was trained")
    assert "plane    high   boundary 59 (output of layer 58), norm 37 to 333" in lines
    assert "stored   embed, low, mid, high (bfloat16)" in lines
    assert "fed      embed, low, mid (3 x 7168), fc to 7168" in lines
    assert "targets  head(final_norm(high))" in lines
    assert "served   sglang >=0.5.20,<0.5.24" in lines


@pytest.mark.parametrize(
    ("example", "line"),
    [
        ("gemma", "targets  no last hidden state"),
        ("gemma", "fed      final (1 x 5376), no fc"),
        ("gemma", "plane    final  boundary 62 (output of the last layer, 61, after the final norm)"),
        ("qwen3", "fed      p5, p1, p2, p3, p4 (5 x 4096), a norm for each, fc to 2048"),
        ("qwen3", "targets  head(final)"),
        ("qwen3", "served   nowhere"),
        ("llama", "         specforge: low, mid, high, final_normed"),
        ("llama", "fed      low, mid, high (3 x 4096), a norm over all, fc to 4096"),
    ],
)
def test_an_example_in_words(example: str, line: str) -> None:
    assert line in render_contract(load_contract(EXAMPLES / f"{example}.toml"))


def test_the_catalog_is_described_version_by_version() -> None:
    rows = describe_catalog()
    assert [row["contract"] for row in rows] == DOCUMENTS[: len(rows)]
    latest = {row["name"]: row["version"] for row in rows if row["latest"]}
    assert latest == {name: versions[-1] for name, versions in list_catalog().items()}
    assert json.loads(json.dumps(rows)) == rows
