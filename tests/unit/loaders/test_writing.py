"""What is written for a loader is a sound dataset of its format: this project's own readers say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders.protocol import Loader
from eagle3_contracts.subjects.loaders.scenarios import Layout, write_scenario
from eagle3_contracts.subjects.loaders.writing import WRITERS

SHAPES = ("safe", "readable", "schema", "plane-count", "width", "dtype", "rows", "mask-length", "token-ids", "finite")


def write(scenario: str, dataset_format: str, contract: Contract, folder: Path) -> dict[str, Verdict]:
    """Write a scenario and give what the dataset clauses on shapes say of it."""
    layout = Layout.of(contract, Loader(lambda _: [], dataset_format))
    write_scenario(scenario, folder, WRITERS[dataset_format], layout, None)  # type: ignore[arg-type]
    evidence = gather_evidence(contract, Subject("dataset", str(folder), "written"), Options(scan="full"))
    assert evidence.format == dataset_format
    items = [clause(f"dataset.{name}") for name in SHAPES]
    return {item.id.partition(".")[2]: judge_clause(item, contract, evidence)[0].verdict for item in items}


@pytest.mark.parametrize("dataset_format", sorted(WRITERS))
def test_a_sound_dataset_is_sound(dataset_format: str, contract: Contract, tmp_path: Path) -> None:
    assert set(write("sound", dataset_format, contract, tmp_path).values()) == {Verdict.PASSED}


@pytest.mark.parametrize("dataset_format", sorted(WRITERS))
@pytest.mark.parametrize(
    ("scenario", "failing"),
    [("nonfinite", {"finite"}), ("row-missing", {"rows"}), ("row-surplus", {"rows"}), ("corrupt", {"readable"})],
)
def test_a_bad_sample_is_bad_in_one_way(
    scenario: str, failing: set[str], dataset_format: str, contract: Contract, tmp_path: Path
) -> None:
    found = write(scenario, dataset_format, contract, tmp_path)
    assert {name for name, verdict in found.items() if verdict is Verdict.FAILED} == failing
