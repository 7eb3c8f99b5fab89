"""The digest: the same for the same meaning, now and when the format has grown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import Field

from eagle3_contracts.contract import Contract, Plane, list_catalog, load_contract
from eagle3_contracts.contract.loading import parse_contract
from eagle3_contracts.contract.releasing import read_releases
from support.documents import EXAMPLES, GONE, change_values, make_contract, read_values

EXAMPLE = EXAMPLES / "llama.toml"


def test_layout_and_comments_do_not_count() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    other = "\n".join(line.partition(" #")[0] for line in text.splitlines() if not line.startswith("#"))
    assert other != text
    assert parse_contract(other).digest == load_contract(EXAMPLE).digest


@pytest.mark.parametrize(
    ("place", "default"),
    [
        ("drafter.layers", 1),
        ("drafter.head_norm", True),
        ("target.norm.kind", "rms"),
        ("alignment.token", [1]),
        ("drafter.rope.layout", "half"),
        ("drafter.fc.bias", False),
    ],
)
def test_a_default_says_the_same_written_or_not(place: str, default: object) -> None:
    assert make_contract({place: default}).digest == make_contract({place: GONE}).digest


def test_a_table_of_defaults_says_the_same_as_none() -> None:
    defaults = {"token": [1], "target": [1], "loss_mask": [0, 1], "position": [0, 1]}
    assert make_contract({"alignment": defaults}).digest == make_contract({"alignment": GONE}).digest


def test_accepted_values_have_one_order() -> None:
    one, other = (make_contract({"alignment.loss_mask": offsets}) for offsets in ([1, 0], [0, 1, 1]))
    assert one.alignment.loss_mask == (0, 1)
    assert one.digest == other.digest


def test_an_integer_says_the_same_as_the_number() -> None:
    assert make_contract({"drafter.rope.theta": 10000}).digest == make_contract({"drafter.rope.theta": 1e4}).digest


@pytest.mark.parametrize(
    "change",
    [
        {"planes.low.boundary": 3},
        {"drafter.input": ["mid", "low", "high"]},
        {"drafter.layers": 2},
        {"summary": "Said otherwise."},
        {"alignment.position": [0, 1]},
        {"version": "1.0.1"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_document_says_counts(change: dict[str, object]) -> None:
    assert make_contract(change).digest != make_contract().digest


class GrownPlane(Plane):
    """A plane of a later program, with one more optional key."""

    colour: str | None = None


class GrownContract(Contract):
    """The format of a later program, with more optional keys, deep and at the top."""

    planes: tuple[GrownPlane, ...]
    licence: str = "unknown"
    notes: dict[str, str] = Field(default_factory=dict)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_key_added_later_leaves_the_digest(path: Path) -> None:
    values = read_values(path)
    grown = GrownContract.model_validate_json(json.dumps(values))
    assert grown.digest == load_contract(path).digest
    said = GrownContract.model_validate_json(json.dumps(change_values(values, {"licence": "MIT"})))
    assert said.digest != grown.digest


def test_released_digests_hold() -> None:
    releases = read_releases()
    assert releases
    for name, versions in list_catalog().items():
        for version in versions:
            assert load_contract(f"{name}@{version}").digest == releases[f"{name}/{version}"]["digest"]
