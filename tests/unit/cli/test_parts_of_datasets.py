"""What ``check`` tells of datasets that are read, or held against the target, in part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.subjects.targets import open_target
from support.formats import GoodSample, write_dataset

Runner = Callable[..., Any]
TARGET = str(embedded_target())


def _samples(lengths: Sequence[int], width: int | None = None) -> list[GoodSample]:
    """Samples of random tokens with the embedded target's own states, cut to ``width`` channels."""
    target = open_target(TARGET, load_contract(CONTRACT))
    made = []
    for seed, length in enumerate(lengths):
        ids = np.random.default_rng(seed).integers(0, 256, length)
        states = target.reference(ids).boundaries[[2, 4, 5, 8]][..., :width]
        made.append(GoodSample(tuple(int(token) for token in ids), states, tuple(int(at > 1) for at in range(length))))
    return made


def _findings(found: Any) -> dict[str, Any]:
    return {item["clause"]: item for item in found.json["findings"]}


def test_files_that_were_not_read_are_told_where_all_passed(run: Runner, tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, _samples([12] * 70))
    told = f"dataset    {tmp_path.name}: 64 of 70 files (64 samples) could be read to their end; 6 files not read"
    found = run("check", CONTRACT, "--hidden-states", tmp_path)
    assert (found.code, told in found.out) == (0, True)
    assert "not read" not in run("check", CONTRACT, "--hidden-states", tmp_path, "--scan", "full").out


def test_a_damaged_file_is_no_reason_why_nothing_was_held_against_a_target(run: Runner, tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, _samples([60] * 3))
    (tmp_path / "data_1.pt").write_bytes(b"PK")
    found = _findings(run("check", CONTRACT, "--hidden-states", tmp_path, "--json"))
    assert found["dataset.readable"]["verdict"] == "failed"
    assert {found[f"dataset.{name}"]["observed"] for name in ("boundary", "identity")} == {"no target was given"}
    (tmp_path / "data_0.pt").write_bytes(b"PK")
    (tmp_path / "data_2.pt").write_bytes(b"PK")
    found = _findings(run("check", CONTRACT, "--hidden-states", tmp_path, "--target", TARGET, "--json"))
    assert found["dataset.boundary"]["verdict"] == "errored"


def test_no_more_weights_are_asked_for_where_all_are_at_hand(run: Runner, tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, _samples([60] * 3, width=60))
    found = _findings(run("check", CONTRACT, "--hidden-states", tmp_path, "--target", TARGET, "--json"))
    assert found["dataset.width"]["verdict"] == "failed"
    assert (found["dataset.boundary"]["verdict"], found["dataset.boundary"]["rung"]) == ("errored", "full target")
    assert "mend the shapes first" in found["dataset.boundary"]["hint"]


def test_short_samples_are_held_against_the_target_until_they_suffice(run: Runner, tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, _samples([9] * 60))
    found = _findings(run("check", CONTRACT, "--hidden-states", tmp_path, "--target", TARGET, "--json"))
    assert found["dataset.boundary"]["verdict"] == "passed"
    assert found["dataset.identity"]["observed"].startswith("15 of 60 samples")


def test_a_folder_of_the_functions_name_is_no_part_of_the_subject(
    run: Runner, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (toy / "good").mkdir()
    monkeypatch.syspath_prepend(toy)
    assert run("check", "own.toml", "--capture", "captures:good").code == 0
