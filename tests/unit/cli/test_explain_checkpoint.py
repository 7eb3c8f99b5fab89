"""``explain --checkpoint``: engine and version against taps, fc, tensors and flags ignored, and the outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import Form

Runner = Callable[..., Any]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Form], Path]:
    return lambda form: prepare_export(load_contract(CONTRACT), tmp_path / form, form)[1].write()


def test_each_span_of_versions_has_a_row(run: Runner, write: Callable[[Form], Path]) -> None:
    rows = {
        row["engine"]: row
        for row in run("explain", CONTRACT, "--checkpoint", write("modelopt"), "--json").json["readings"]
    }
    early, late = rows["sglang 0.5.9 to 0.5.11"], rows["sglang 0.5.12 to 0.5.23"]
    assert len(early["dropped"]) == 10
    assert early["outcome"].startswith("runs, without a word, though")
    assert late["outcome"] == "runs"
    assert late["taps"] == ["R[2]", "R[4]", "R[5]"]
    assert rows["vllm v2 0.22.0 to 0.33.0"]["ids"] == "eagle_aux_hidden_state_layer_ids [2, 4, 5]"


def test_the_table_names_what_stops_an_engine(run: Runner, write: Callable[[Form], Path]) -> None:
    found = run("explain", CONTRACT, "--checkpoint", write("speculators"))
    assert found.code == 0
    assert "stops at start: it does not read speculators' nested config.json" in found.out
    assert found.out.splitlines()[2].split()[:4] == ["engine", "taps", "from", "fc"]


def test_without_a_contract_ids_are_not_turned_into_boundaries(run: Runner, write: Callable[[Form], Path]) -> None:
    found = run("explain", "--checkpoint", write("specforge"))
    assert "no contract says which target it is for" in found.out
    assert "R[2]" not in found.out


def test_explain_takes_something(run: Runner) -> None:
    found = run("explain")
    assert found.code == 2
    assert "explain takes a contract (NAME), a checkpoint (--checkpoint DIR), or both" in found.err


def test_a_folder_without_weights_is_told(run: Runner, tmp_path: Path) -> None:
    found = run("explain", CONTRACT, "--checkpoint", tmp_path)
    assert found.code == 3
    assert "config.json" in found.out
