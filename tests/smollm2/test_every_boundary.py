"""Every way of being wrong at every boundary of a real target, judged by the clauses of both stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence, DatasetEvidence
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from support.datasets import read_evidence
from support.formats import GoodSample, write_dataset
from support.smollm2 import LAYERS
from support.smollm2_bank import BOUNDARIES, Bank, Choice

PLACED = {
    "capture": ("boundary", "order", "residual", "token-shift", "final-state"),
    "dataset": ("boundary", "order", "token-shift", "final-state", "norm-vector", "embedding-rows"),
}
"""The clauses that rest on the target, by stage."""


def capture_evidence(bank: Bank, choice: Choice) -> CaptureEvidence:
    planes = bank.chosen_planes(choice)
    request = CapturedRequest(bank.tokens, bank.tokens, planes, "bfloat16", tuple(plane.shape for plane in planes))
    return CaptureEvidence(
        "bank",
        alone=(request,),
        held=planes,
        held_shapes=request.shapes,
        compute_dtype=bank.computed,
        comparison=bank.comparison(choice),
        halfway=bank.halfway(choice),
    )


@pytest.fixture(scope="module")
def stored(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> DatasetEvidence:
    """What was read from a dataset of the right planes, without a target."""
    folder = tmp_path_factory.mktemp("stored")
    mask = tuple(int(place >= 5) for place in range(len(bank.tokens)))
    write_dataset("vllm-connector", folder, [GoodSample(bank.tokens, bank.planes["true"], mask)])
    return read_evidence(folder, bank.contract)


Judge = Callable[[str, Choice], set[str]]


@pytest.fixture
def failed(bank: Bank, stored: DatasetEvidence) -> Judge:
    """Judge an artifact that is right but for the choice; give the clauses of a stage that failed."""

    def judge(stage: str, choice: Choice) -> set[str]:
        evidence = (
            capture_evidence(bank, choice)
            if stage == "capture"
            else dataclasses.replace(stored, comparison=bank.comparison(choice))
        )
        named = [clause(f"{stage}.{name}") for name in PLACED[stage]]
        found = [item for one in named for item in judge_clause(one, bank.contract, evidence)]
        return {item.clause.partition(".")[2] for item in found if item.verdict is Verdict.FAILED}

    return judge


@pytest.fixture(params=list(PLACED))
def stage(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_the_right_planes_pass(bank: Bank, stored: DatasetEvidence) -> None:
    comparison = bank.comparison({})
    for name, evidence in (
        ("capture", capture_evidence(bank, {})),
        ("dataset", dataclasses.replace(stored, comparison=comparison)),
    ):
        for one in (*PLACED[name], *(["aliasing"] if name == "capture" else [])):
            for item in judge_clause(clause(f"{name}.{one}"), bank.contract, evidence):
                assert item.verdict is Verdict.PASSED, item


def test_sink_tokens_are_among_the_tokens_and_say_little(bank: Bank) -> None:
    """At the sinks a neighbour looks like the boundary itself, which is why they are left out."""
    states = bank.states("true")
    assert states.sinks >= 1
    assert states.tokens + states.sinks == len(bank.tokens)
    assert states.sink_median is not None
    assert states.sink_median[4, 5] < 0.02
    assert states.median[states.shifts.index(0), 4, 5] > 0.2


def companions(stage: str, boundary: int, *, embedding: bool = False) -> set[str]:
    """Give what fails beside the clause of the fault: another tensor at boundary 30 is no final state either."""
    last = {"final-state"} if boundary == LAYERS else set()
    return last | ({"embedding-rows"} if embedding and stage == "dataset" else set())


@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_a_plane_one_boundary_too_low(failed: Judge, stage: str, boundary: int) -> None:
    assert failed(stage, {boundary: "below"}) == {"boundary"} | companions(stage, boundary, embedding=boundary == 1)


@pytest.mark.parametrize("boundary", BOUNDARIES[:-1])
def test_a_plane_one_boundary_too_high(failed: Judge, stage: str, boundary: int) -> None:
    assert failed(stage, {boundary: "above"}) == {"boundary"} | companions(stage, boundary, embedding=boundary == 0)


@pytest.mark.parametrize("boundary", BOUNDARIES[:-1])
def test_two_neighbours_swapped(failed: Judge, stage: str, boundary: int) -> None:
    swapped = {boundary: "above", boundary + 1: "below"}
    assert failed(stage, swapped) == {"order"} | companions(stage, 0, embedding=boundary == 0)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_the_final_norm_applied_to_a_plane(failed: Judge, stage: str, boundary: int) -> None:
    at_the_end = {"final-state"} | ({"norm-vector"} if stage == "dataset" else set())
    elsewhere = {"boundary"} | companions(stage, boundary, embedding=boundary == 0)
    assert failed(stage, {boundary: "normed"}) == (at_the_end if boundary == LAYERS else elsewhere)


@pytest.mark.parametrize("kind", ["next", "previous"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_plane_shifted_by_a_token(failed: Judge, stage: str, boundary: int, kind: str) -> None:
    assert failed(stage, {boundary: kind}) == {"token-shift"} | companions(stage, 0, embedding=boundary == 0)


@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_a_plane_without_its_residual(failed: Judge, stage: str, boundary: int) -> None:
    expected = {"capture": "residual", "dataset": "boundary"}[stage]
    assert failed(stage, {boundary: "branch"}) == {expected} | companions(stage, boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES[:-1])
def test_a_plane_that_the_next_attention_was_added_to(bank: Bank, failed: Judge, boundary: int) -> None:
    """It is near no boundary by the margin that a verdict needs, and exactly the state in the middle of the layer."""
    choice = {boundary: "halfway"}
    found = judge_clause(clause("capture.aliasing"), bank.contract, capture_evidence(bank, choice))
    assert [item.verdict for item in found] == [Verdict.FAILED]
    assert f"plane b{boundary} is the stream halfway through layer {boundary}" in found[0].observed
    assert failed("capture", choice) <= {"boundary"}
    placed = judge_clause(clause("capture.boundary"), bank.contract, capture_evidence(bank, choice))
    assert Verdict.PASSED not in {item.verdict for item in placed}
