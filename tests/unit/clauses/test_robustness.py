"""No check raises, whatever the evidence: every clause judges every other clause's cases, under three contracts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from eagle3_contracts.evidence import (
    CaptureEvidence,
    DatasetEvidence,
    LoaderEvidence,
    StateComparison,
    TargetComparison,
)
from eagle3_contracts.findings import Finding, Rung, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from support.judging import capture_cases, dataset_cases, loader_edge_cases, placement_cases
from support.judging.comparisons import CANDIDATES, SHIFTS, compare
from support.judging.documents import toy_contract
from support.judging.evidence import sound_capture, sound_dataset
from support.judging.loader_changes import ABSENT, RAISES

CONTRACTS = (toy_contract(), toy_contract("embed", "low", "mid", "high"), toy_contract("normed"))
CAPTURES = [case.evidence for case in (*capture_cases.CASES, *placement_cases.CAPTURE_CASES)]
DATASETS = [case.evidence for case in (*dataset_cases.CASES, *placement_cases.DATASET_CASES)]


def judge_all(evidence: CaptureEvidence | DatasetEvidence) -> list[Finding]:
    stage = "capture" if isinstance(evidence, CaptureEvidence) else "dataset"
    found = []
    for contract in CONTRACTS:
        for clause in clauses_of(stage):
            findings = judge_clause(clause, contract, evidence)
            assert findings, f"{clause.id} found nothing"
            found += findings
    return found


@pytest.mark.parametrize("stage", [CAPTURES, DATASETS], ids=["capture", "dataset"])
def test_every_clause_judges_every_evidence(stage: list[CaptureEvidence | DatasetEvidence]) -> None:
    for evidence in stage:
        judge_all(evidence)


def numbers(value: float) -> TargetComparison:
    """Give a comparison in which every number is the same."""
    table = np.full((len(SHIFTS), 4, len(CANDIDATES)), value)
    states = StateComparison(CANDIDATES, SHIFTS, table, table, 100, 0)
    logits = tuple(dataclasses.replace(item, logprob_max=value, kl=value, text_nll=value) for item in compare().logits)
    return compare(states=states, logits=logits, embedding=[value] * 4, norm_rms=[value] * 4)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_numbers_that_say_nothing_pass_nothing(value: float) -> None:
    for evidence in (sound_capture(comparison=numbers(value)), sound_dataset(comparison=numbers(value))):
        stage = "capture" if isinstance(evidence, CaptureEvidence) else "dataset"
        for clause in clauses_of(stage):
            if clause.needs == "states" and clause.id != "dataset.identity":
                verdicts = {item.verdict for item in judge_clause(clause, CONTRACTS[0], evidence)}
                assert verdicts <= {Verdict.FAILED, Verdict.ERRORED}, clause.id


def test_one_shift_alone_decides_no_shift() -> None:
    states = compare().states
    assert states is not None
    at_zero = dataclasses.replace(states, shifts=(0,), median=states.median[2:3], p99=states.p99[2:3])
    evidence = sound_capture(comparison=compare(states=at_zero))
    found = [item for item in judge_all(evidence) if item.clause == "capture.token-shift"]
    assert found[0].verdict is Verdict.ERRORED


def test_a_partial_target_leaves_the_higher_rungs_unchecked() -> None:
    evidence = sound_dataset(comparison=TargetComparison(Rung.EMBEDDING, 100, embedding_distance=np.full(4, 1.2)))
    verdicts = {
        clause.id: judge_clause(clause, CONTRACTS[0], evidence)[0].verdict
        for clause in clauses_of("dataset")
        if clause.needs
    }
    assert verdicts.pop("dataset.embedding-rows") is Verdict.PASSED
    assert set(verdicts.values()) == {Verdict.ERRORED}


def test_nothing_passes_of_a_loader_that_gives_no_rows() -> None:
    for evidence in (loader_edge_cases.NOTHING, loader_edge_cases.EMPTY, ABSENT, RAISES):
        for clause in clauses_of("loader"):
            for item in judge_clause(clause, CONTRACTS[0], evidence):
                assert (item.clause, item.subject) == (clause.id, evidence.subject)
                assert item.verdict in {Verdict.FAILED, Verdict.ERRORED} or clause.id == "loader.read-only"


@pytest.mark.parametrize(
    "evidence",
    [loader_edge_cases.UNPLACED, loader_edge_cases.UNTRAINED, loader_edge_cases.LAST_ALONE],
    ids=["no row placed", "no row trained", "last rows alone"],
)
def test_every_loader_clause_finds_something_in_odd_rows(evidence: LoaderEvidence) -> None:
    for contract in CONTRACTS:
        for clause in clauses_of("loader"):
            assert judge_clause(clause, contract, evidence), clause.id
