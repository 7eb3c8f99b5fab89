"""The dataset stage on a real target and real text, as users run it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.cli import main
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from support.formats import GoodSample, write_dataset
from support.smollm2 import LAYERS, stored_in

WRONG_TEXTS = 2
"""Enough tokens to decide; a wrong dataset needs no more."""

States = Callable[[str, tuple[int, ...]], ReferenceStates]


def tap(states: ReferenceStates, contract: Contract, dataset_format: str | None = None) -> Array:
    """Give the planes that the contract stores, as a correct capture would."""
    return np.stack(
        [
            states.final if plane.state == "post_norm" else states.boundaries[plane.boundary]
            for plane in contract.stored_planes(dataset_format)
        ]
    )


def boundaries(states: ReferenceStates, *wanted: int) -> Array:
    return states.boundaries[list(wanted)]


def sample(tokens: list[int], planes: Array) -> GoodSample:
    """Make a sample whose first tokens are a prompt, which the loss leaves out."""
    return GoodSample(tuple(tokens), planes, tuple(int(place >= 8) for place in range(len(tokens))))


def judge(contract: Contract, folder: Path, target: Path | None) -> list[Finding]:
    subject = Subject("dataset", str(folder), "mine")
    evidence = gather_evidence(contract, subject, Options(target=str(target) if target else None))
    return [found for clause in clauses_of("dataset") for found in judge_clause(clause, contract, evidence)]


def musts(findings: list[Finding], verdict: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict is verdict and item.level == "must"}


def test_a_correct_dataset_conforms(
    model_path: Path, texts: list[list[int]], states_of: States, variant: tuple[str, Contract], tmp_path: Path
) -> None:
    computed, contract = variant
    stored = contract.storage.dtype or contract.target.dtype
    samples = [sample(ids, tap(states_of(computed, tuple(ids)), contract)) for ids in texts]
    write_dataset("speculators-v1", tmp_path, samples, stored)
    assert_conforms(judge(contract, tmp_path, model_path))


@pytest.mark.parametrize("dataset_format", ["vllm-connector", "specforge"])
def test_other_formats_conform_too(
    model_path: Path, texts: list[list[int]], states_of: States, tmp_path: Path, dataset_format: str
) -> None:
    """specforge keeps the final state after its norm, the other one before it."""
    contract = stored_in("bfloat16")
    samples = [
        sample(ids, tap(states_of("float32", tuple(ids)), contract, dataset_format)) for ids in texts[:WRONG_TEXTS]
    ]
    write_dataset(dataset_format, tmp_path, samples, "bfloat16")
    assert_conforms(judge(contract, tmp_path, model_path))


def assert_conforms(findings: list[Finding]) -> None:
    assert [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}] == []
    decided = {item.clause for item in findings if item.verdict is Verdict.PASSED}
    assert decided >= {f"dataset.{name}" for name in ("boundary", "order", "token-shift", "final-state", "identity")}


WRONG: dict[str, tuple[Callable[[ReferenceStates], Array], str, str]] = {
    "one off": (lambda s: boundaries(s, 3, 16, 28, 30), "dataset.boundary", "3, 16, 28, 30 pre-norm"),
    "swapped": (lambda s: boundaries(s, 27, 15, 2, 30), "dataset.order", "27, 15, 2, 30 pre-norm"),
    "next token": (lambda s: np.roll(boundaries(s, 2, 15, 27, 30), -1, axis=1), "dataset.token-shift", "token t+1"),
    "post-norm": (
        lambda s: np.concatenate([boundaries(s, 2, 15, 27), s.final[None]]),
        "dataset.final-state",
        "normed already",
    ),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_dataset_fails_the_clause_that_names_its_fault(
    model_path: Path, texts: list[list[int]], states_of: States, tmp_path: Path, name: str
) -> None:
    make, clause, told = WRONG[name]
    contract = stored_in("bfloat16")
    samples = [sample(ids, make(states_of("float32", tuple(ids)))) for ids in texts[:WRONG_TEXTS]]
    write_dataset("speculators-v1", tmp_path, samples, "bfloat16")
    findings = judge(contract, tmp_path, model_path)
    named = {"dataset.norm-vector"} if name == "post-norm" else set()
    assert musts(findings, Verdict.FAILED) == {clause} | named
    assert any(told in item.observed for item in findings if item.clause == clause)


def test_an_embedding_plane_is_convicted_without_a_target(
    texts: list[list[int]], states_of: States, tmp_path: Path
) -> None:
    samples = [sample(ids, boundaries(states_of("float32", tuple(ids)), 0, 2, 15, 30)) for ids in texts]
    write_dataset("speculators-v1", tmp_path, samples, "bfloat16")
    findings = judge(stored_in("bfloat16"), tmp_path, None)
    assert musts(findings, Verdict.FAILED) == {"dataset.embedding-repeats"}


def test_states_of_another_sample_are_strangers(
    model_path: Path, texts: list[list[int]], states_of: States, tmp_path: Path
) -> None:
    contract, length = stored_in("bfloat16"), min(map(len, texts))
    cut = [ids[:length] for ids in texts[:3]]
    planes = [tap(states_of("float32", tuple(ids)), contract) for ids in cut]
    samples = [sample(ids, states) for ids, states in zip(cut, planes[1::-1] + planes[2:], strict=True)]
    write_dataset("speculators-v1", tmp_path, samples, "bfloat16")
    findings = judge(contract, tmp_path, model_path)
    assert musts(findings, Verdict.FAILED) == {"dataset.identity"}


def test_the_command_line_checks_capture_and_dataset_in_one_go(
    model_path: Path, texts: list[list[int]], states_of: States, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = stored_in("bfloat16")
    samples = [sample(ids, tap(states_of("float32", tuple(ids)), contract)) for ids in texts[:2]]
    write_dataset("speculators-v1", tmp_path / "states", samples, "bfloat16")
    arguments = ["check", "smollm2-135m-eagle3", "--capture", f"transformers:{model_path}", "--target", str(model_path)]
    code = main([*arguments, "--hidden-states", str(tmp_path / "states"), "--json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    failed = [item for item in report["findings"] if item["verdict"] in {"failed", "errored"}]
    assert (code, failed) == (0, [])
    assert report["contract"] == "smollm2-135m-eagle3@1.0.1"
    placed = {(item["stage"], item["rung"]) for item in report["findings"] if item["clause"].endswith(".boundary")}
    assert placed == {("capture", "full target"), ("dataset", "full target")}
    assert contract.target.num_hidden_layers == LAYERS
