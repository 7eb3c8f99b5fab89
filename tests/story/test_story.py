"""The story, at toy size: one dataset of [embed, layer3, layer31, layer59] against three versions of its contract.

The target is a stand-in for Kimi-K2.5: random weights in Llama's shape, 61 layers, the story's norms. What is
checked is the bookkeeping of boundaries, which knows nothing of the weights.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.findings import Finding, Level, Rung, Verdict
from eagle3_contracts.run import Report, check
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.targets import open_target
from support.formats import write_dataset
from support.formats.samples import GoodSample
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens

STORED = (0, 3, 31, 59)


def kimi(version: str) -> Contract:
    return scale_down(load_contract(f"kimi-k2.5-eagle3@{version}"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kimi_toy(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, target: Path) -> Path:
    """Write four samples as speculators <= 0.4 does, from the target's own states."""
    opened = open_target(str(target), kimi("2.0.0"))
    samples = []
    for seed, length in enumerate((72, 96, 48, 60)):
        tokens = toy_tokens(length, seed=seed)
        states = opened.reference(tokens).boundaries
        mask = tuple(int(index >= length // 3) for index in range(length))
        samples.append(GoodSample(tuple(tokens), np.ascontiguousarray(states[list(STORED)]), mask))
    folder = tmp_path_factory.mktemp("story")
    write_dataset("speculators-v1", folder, samples)
    return folder


def judge(version: str, dataset: Path, target: Path | None = None) -> Report:
    options = Options(target=None if target is None else str(target))
    return check(kimi(version), [Subject("dataset", str(dataset), "story")], options)


def violations(report: Report, level: Level) -> dict[str, Finding]:
    failed = [item for item in report.findings if item.verdict is Verdict.FAILED and item.level is level]
    return {item.clause: item for item in failed}


@pytest.mark.parametrize("with_target", [False, True], ids=["files-alone", "with-target"])
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_the_dataset_conforms_to_what_was_stored(
    version: str, dataset: Path, target: Path, *, with_target: bool
) -> None:
    report = judge(version, dataset, target if with_target else None)
    assert violations(report, Level.MUST) == {}
    assert not [item for item in report.findings if item.verdict is Verdict.ERRORED]
    assert report.exit_code() == 0


def test_the_version_as_it_was_trained_is_told_that_its_last_plane_is_no_final_state(dataset: Path) -> None:
    warned = violations(judge("2.0.0", dataset), Level.SHOULD)
    assert "59" in warned["contract.final-state"].observed
    assert "contract.final-state" not in violations(judge("1.0.0", dataset), Level.SHOULD)


def test_the_version_as_it_was_meant_convicts_the_dataset_without_any_weights(dataset: Path) -> None:
    report = judge("3.0.0", dataset)
    convicted = violations(report, Level.MUST)
    assert set(convicted) == {"dataset.embedding-repeats"}
    assert convicted["dataset.embedding-repeats"].rung is Rung.NONE
    assert convicted["dataset.embedding-repeats"].where.plane == "low"
    assert report.exit_code() == 1


def test_with_the_target_the_message_lists_the_boundaries_that_were_stored(dataset: Path, target: Path) -> None:
    convicted = violations(judge("3.0.0", dataset, target), Level.MUST)
    assert "planes are boundaries 0, 3, 31, 59" in convicted["dataset.boundary"].observed
    assert "3, 31, 59, 61" in convicted["dataset.boundary"].expected
    assert convicted["dataset.boundary"].rung is Rung.FULL
