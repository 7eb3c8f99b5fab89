"""The embedded capture: the golden target by the torch route, held against the numpy route."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.evidence import CaptureEvidence
from eagle3_contracts.findings import Rung, Verdict
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.captures import gather
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from eagle3_contracts.subjects.targets import llama_torch

EMBEDDED = Subject("capture", "embedded", "embedded")


@pytest.fixture(scope="module")
def tiny() -> Contract:
    return load_contract("tiny-llama-eagle3")


@pytest.fixture(scope="module")
def evidence(tiny: Contract) -> CaptureEvidence:
    return gather(tiny, EMBEDDED, Options())


def test_every_clause_of_the_stage_passes(tiny: Contract, evidence: CaptureEvidence) -> None:
    findings = [item for clause in clauses_of("capture") for item in judge_clause(clause, tiny, evidence)]
    assert {item.verdict for item in findings} == {Verdict.PASSED}


def test_it_is_held_against_a_reference_of_its_own_accord(evidence: CaptureEvidence) -> None:
    assert evidence.comparison is not None
    assert evidence.comparison.rung is Rung.FULL
    assert evidence.comparison.tokens == sum(len(request.given) for request in evidence.alone)
    assert evidence.compute_dtype == "float32"


def test_the_reference_is_the_other_route(tiny: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of the torch route must show: were it its own reference, the distance would stay 0."""
    real = llama_torch.rms_norm
    monkeypatch.setattr(llama_torch, "rms_norm", lambda state, weight, eps: real(state, weight, eps).flip(-1))
    found = gather(tiny, EMBEDDED, Options())
    failed = [
        item.clause
        for clause in clauses_of("capture")
        for item in judge_clause(clause, tiny, found)
        if item.verdict is Verdict.FAILED and item.level == "must"
    ]
    assert "capture.boundary" in failed


def test_a_padded_batch_changes_no_row(tiny: Contract) -> None:
    capture = open_embedded_capture(tiny)
    batch = [[5, 6, 7], [9, 8, 7, 6, 5, 4, 3], [17]]
    for ids, together in zip(batch, capture(batch), strict=True):
        (alone,) = capture([ids])
        assert list(together.token_ids) == ids
        np.testing.assert_allclose(
            relative_l2(together.planes.float().numpy(), alone.planes.float().numpy()), 0.0, atol=0.01
        )


def test_each_request_has_memory_of_its_own(tiny: Contract) -> None:
    one, other = open_embedded_capture(tiny)([[5, 6, 7], [9, 8]])
    kept = other.planes.clone()
    one.planes.zero_()
    assert (other.planes == kept).all()


def test_a_contract_about_another_target_is_refused(contract: Contract) -> None:
    with pytest.raises(SubjectError, match=r"not the target of toy@1\.0\.0: hidden_size is"):
        gather(contract, EMBEDDED, Options())


def test_without_torch_it_is_unchecked_and_says_what_to_install(
    tiny: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = gather(tiny, EMBEDDED, Options())
    ((problem),) = found.problems
    assert problem.kind == "needs"
    assert problem.reason == "running the embedded target needs torch, which is not installed"
    assert problem.remedy == "pip install 'eagle3-contracts[torch]'"
    verdicts = {item.verdict for clause in clauses_of("capture") for item in judge_clause(clause, tiny, found)}
    assert verdicts <= {Verdict.ERRORED, Verdict.SKIPPED}
