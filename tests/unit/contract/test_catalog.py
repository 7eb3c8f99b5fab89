"""The catalog: what was released stays as it was, and says what its sources say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, list_catalog, load_contract
from eagle3_contracts.contract.comparing import compare
from eagle3_contracts.contract.loading import catalog_root
from eagle3_contracts.contract.releasing import find_catalog_defects
from eagle3_contracts.findings import Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options

REFERENCES = [f"{name}@{version}" for name, versions in list_catalog().items() for version in versions]


def test_the_catalog_is_as_it_was_released() -> None:
    defects = "\n".join(find_catalog_defects())
    assert not defects, defects


def test_the_catalog_holds_a_tiny_target_a_real_one_the_story_and_five_published_pairs() -> None:
    catalog = list_catalog()
    assert catalog["kimi-k2.5-eagle3"] == ("1.0.0", "2.0.0", "3.0.0")
    pairs = set(catalog) - {"tiny-llama-eagle3", "smollm2-135m-eagle3", "kimi-k2.5-eagle3"}
    assert len(pairs) == 5


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_published_document_names_its_sources(reference: str) -> None:
    contract = load_contract(reference)
    assert contract.sources
    assert all(bounds.origin for bounds in contract.tolerance.values())


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_document_tells_editors_its_schema(reference: str) -> None:
    name, _, version = reference.partition("@")
    first = (catalog_root() / name / f"{version}.toml").read_text(encoding="utf-8").partition("\n")[0]
    assert first in {"#:schema ../schema-1.json", "schema = 1"}


@pytest.mark.parametrize("reference", REFERENCES)
def test_only_the_story_has_a_defect_of_the_document(reference: str) -> None:
    found = check(load_contract(reference), (), Options()).findings
    assert [item.clause for item in found if item.verdict is Verdict.ERRORED] == []
    failed = [item.clause for item in found if item.verdict is Verdict.FAILED]
    assert failed == (["contract.final-state"] if reference == "kimi-k2.5-eagle3@2.0.0" else [])


STORY = {
    "1.0.0": ([0, 3, 31, 59], [3, 31, 59], None, "skipped"),
    "2.0.0": ([0, 3, 31, 59], [0, 3, 31], 59, "failed"),
    "3.0.0": ([3, 31, 59, 61], [3, 31, 59], 61, "passed"),
}


@pytest.mark.parametrize("version", STORY)
def test_the_story_is_told_in_three_versions(version: str) -> None:
    stored, fed, last, verdict = STORY[version]
    contract = load_contract(f"kimi-k2.5-eagle3@{version}")
    assert [plane.boundary for plane in contract.stored_planes()] == stored
    assert [plane.boundary for plane in contract.input_planes()] == fed
    plane = contract.last_hidden_plane()
    assert (plane.boundary if plane is not None else None) == last
    found = {item.clause: item.verdict for item in check(contract, (), Options()).findings}
    assert found["contract.final-state"] == verdict


def test_the_story_says_what_it_only_infers() -> None:
    sources = " ".join(load_contract("kimi-k2.5-eagle3@2.0.0").sources)
    assert "boundary 59 of 61 is this project's inference" in sources


@pytest.mark.parametrize(("old", "new"), [("1.0.0", "2.0.0"), ("2.0.0", "3.0.0")])
def test_each_version_of_the_story_breaks_the_one_before(old: str, new: str) -> None:
    comparison = compare(*(load_contract(f"kimi-k2.5-eagle3@{version}") for version in (old, new)))
    places = {change.place for change in comparison.changes if change.kind == "breaking"}
    assert {"drafter.input", "drafter.last_hidden"} <= places
    assert comparison.version_suffices


PAIRS = {
    # n, hidden, boundaries, heads x head_dim, rope base: by hand from the configurations that the documents cite.
    "llama-3.3-70b-instruct-eagle3": (80, 8192, (2, 40, 77), 64 * 128, 500000.0),
    "llama-4-scout-17b-16e-instruct-eagle3": (48, 5120, (2, 24, 45), 40 * 128, 10000.0),
    "gpt-oss-120b-eagle3": (36, 2880, (2, 18, 34), 64 * 64, 10000.0),
    "qwen3-coder-480b-a35b-instruct-eagle3": (62, 6144, (2, 31, 59), 96 * 128, 1000000.0),
    "qwen3-8b-eagle3": (36, 4096, (2, 18, 33), 32 * 128, 1000000.0),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_has_its_published_sizes(name: str) -> None:
    contract = load_contract(name)
    attention: Any = contract.drafter.attention
    boundaries = tuple(plane.boundary for plane in contract.input_planes())
    sizes = (contract.target.num_hidden_layers, contract.target.hidden_size, boundaries)
    assert (*sizes, attention.heads * attention.head_dim, contract.drafter.rope.theta) == PAIRS[name]


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_says_that_the_checkpoint_was_not_read(name: str) -> None:
    assert any("config.json was not read" in source for source in load_contract(name).sources)


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_states_no_norms_that_nobody_measured(name: str) -> None:
    assert all(plane.norm is None for plane in load_contract(name).planes)


def test_documents_lie_where_their_names_say() -> None:
    root: Path = catalog_root()
    for reference in REFERENCES:
        contract: Contract = load_contract(reference)
        assert (root / contract.name / f"{contract.version}.toml").is_file()
