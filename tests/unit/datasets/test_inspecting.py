"""``inspect PATH``: what a dataset is, as JSON, and which contracts of the catalog it can fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eagle3_contracts.contract import list_catalog, load_contract
from eagle3_contracts.embedded import NAME, VERSION, golden_root
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.datasets import inspect_dataset
from eagle3_contracts.subjects.datasets.inspecting import find_misfits
from support.datasets import read_evidence
from support.formats import ALL_WRITERS, GoodSample, make_samples, write_dataset
from support.judging.documents import toy_contract

GOLDEN = golden_root() / NAME / VERSION / "datasets"


def story_samples(count: int = 2, hidden: int = 64) -> list[GoodSample]:
    """Planes of the story's norms: embedding about 1, then 37, 174 and 111."""
    made = []
    for one in make_samples(count, hidden=hidden, embedding_plane=0):
        norms = np.linalg.norm(one.planes, axis=-1, keepdims=True)
        scale = np.array([1, 37, 174, 111], np.float32)[:, None, None] / norms
        scale[0] = 1 / np.sqrt(hidden)
        made.append(GoodSample(one.token_ids, one.planes * scale, one.mask))
    return made


@pytest.mark.parametrize("name", ALL_WRITERS)
@pytest.mark.parametrize("scan", ["full", "headers"])
def test_every_format_is_described_as_json(name: str, scan: str, tmp_path: Path) -> None:
    format_id, write = ALL_WRITERS[name]
    write(tmp_path, make_samples(3))
    told = inspect_dataset(tmp_path, Options(scan=scan))
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert (told["format"], told["samples"], told["problems"]) == (format_id, 3, [])
    (signature,) = told["signatures"]
    assert (signature["planes"], signature["widths"]) == (4, [16] * 4)
    assert (told["planes"][0]["norm"] is None) is (scan == "headers")


def test_the_story_is_told_at_a_glance(tmp_path: Path) -> None:
    """Norms per plane, and the plane that is an embedding: what days of grep found."""
    write_dataset("speculators-v1", tmp_path, story_samples())
    planes = inspect_dataset(tmp_path)["planes"]
    assert [round(plane["norm"]["median"]) for plane in planes] == [1, 37, 174, 111]
    assert [plane["embedding_output"] for plane in planes] == [True, False, False, False]


def test_contracts_are_judged_by_what_can_be_told_without_weights(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(2, hidden=8, embedding_plane=0))
    evidence = read_evidence(tmp_path)
    assert find_misfits(toy_contract("embed", "low", "mid", "high"), evidence) != []
    fits = toy_contract("embed", "low", "high", "final")
    assert find_misfits(fits, evidence) == []
    reasons = find_misfits(toy_contract("low", "high", "final", "embed"), evidence)
    assert "plane low: an embedding output, declared is boundary 2" in reasons
    assert "plane embed: no embedding output, declared is boundary 0" in reasons


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden_size": 9}, "8 wide, the target is 9"),
        ({"vocab_size": 12}, "token id 12, the vocabulary has 12"),
        ({"dtype": "float32"}, "bfloat16, declared is float32"),
    ],
)
def test_misfits_name_both_sides(changes: dict[str, int | str], reason: str, tmp_path: Path) -> None:
    one = make_samples(1, hidden=8)[0]
    write_dataset("speculators-v1", tmp_path, [GoodSample((12, *one.token_ids[1:]), one.planes, one.mask)])
    contract = toy_contract("low", "high", "final", "normed")
    target = contract.target.model_copy(update=changes)
    assert find_misfits(contract.model_copy(update={"target": target}), read_evidence(tmp_path)) == [reason]


def test_norms_outside_the_declared_range_are_misfits(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(1, hidden=8))
    (reason,) = find_misfits(toy_contract("low", "mid", "high", "final"), read_evidence(tmp_path))
    assert reason.startswith("plane mid: median norm 1")
    assert reason.endswith("declared 2 to 4")


@pytest.mark.parametrize("name", ["speculators-v1", "specforge", "vllm-connector"])
def test_the_embedded_datasets_fit_their_contract(name: str) -> None:
    told = inspect_dataset(GOLDEN / name)
    fitting = [item["contract"] for item in told["contracts"] if item["fits"]]
    assert fitting == [f"{NAME}@{version}" for version in list_catalog()[NAME]]
    assert all(item["reasons"] for item in told["contracts"] if not item["fits"])


def test_a_dataset_of_no_known_format_fits_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(b"no archive at all")
    told = inspect_dataset(tmp_path)
    assert told["format"] is None
    assert [problem["kind"] for problem in told["problems"]] == ["corrupt"]
    assert {tuple(item["reasons"]) for item in told["contracts"]} == {("no sample was read",)}


def test_the_contract_is_not_asked_for_its_target(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(1))
    told = inspect_dataset(tmp_path, Options(target="nowhere"))
    assert told["problems"] == []


def test_a_version_of_the_story_that_does_not_store_the_embedding_is_ruled_out(tmp_path: Path) -> None:
    from support.scaling import scale_down

    write_dataset("speculators-v1", tmp_path, story_samples(3))
    evidence = read_evidence(tmp_path)
    for version, fits in (("1.0.0", True), ("2.0.0", True), ("3.0.0", False)):
        contract = scale_down(load_contract(f"kimi-k2.5-eagle3@{version}"))
        assert (find_misfits(contract, evidence) == []) is fits
