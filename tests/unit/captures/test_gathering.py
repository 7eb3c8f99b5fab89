"""From a named capture to evidence, without a target: what is recorded, and what is said to be missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CaptureEvidence
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.captures import gather
from eagle3_contracts.subjects.captures.requests import make_requests

CODE = """
import numpy as np
from eagle3_contracts import Captured

def planes(ids):
    return np.tile(np.array(ids, np.float32)[None, :, None], (3, 1, {width}))

def capture(batch):
    return [Captured(ids, planes(ids)) for ids in batch]

{more}
"""


@pytest.fixture
def capture(contract: Contract, tmp_path: Path) -> Any:
    """Gather from a capture written into a file, ``width`` wide."""

    def gather_from(
        width: int = 8,
        more: str = "",
        name: str = "capture",
        target: str | None = None,
        requests: Sequence[Sequence[int]] | None = None,
    ) -> CaptureEvidence:
        path = tmp_path / "under_test.py"
        path.write_text(CODE.format(width=width, more=more))
        subject = Subject("capture", f"{path}:{name}", "mine")
        return gather(contract, subject, Options(target=target, seed=5), requests)

    return gather_from


def test_seeded_requests_are_asked_for(capture: Any) -> None:
    evidence = capture()
    assert evidence.subject == "mine"
    assert tuple(request.given for request in evidence.alone) == make_requests(64, seed=5)
    assert not evidence.problems
    assert evidence.comparison is None


def test_requests_can_be_given(capture: Any) -> None:
    evidence = capture(requests=[[1, 2], [3]])
    assert [request.given for request in evidence.alone] == [(1, 2), (3,)]


def test_the_dtype_of_the_computation_is_assumed_and_said(capture: Any) -> None:
    evidence = capture()
    assert evidence.compute_dtype == "float32"
    assert evidence.notes == ("the capture has no attribute compute_dtype: float32, the target's, is assumed",)


def test_the_dtype_of_the_computation_can_be_declared(capture: Any) -> None:
    evidence = capture(more="capture.compute_dtype = 'bfloat16'")
    assert evidence.compute_dtype == "bfloat16"
    assert evidence.notes == ()


def test_code_that_fails_on_import_is_evidence_too(capture: Any) -> None:
    evidence = capture(more="raise RuntimeError('no model here')")
    ((problem),) = evidence.problems
    assert problem.kind == "crashed"
    assert problem.reason.endswith("raised RuntimeError: no model here")
    assert evidence.alone == ()


def test_a_capture_of_one_sequence_is_adapted(capture: Any) -> None:
    evidence = capture(name="planes")
    assert evidence.form == "single"
    assert any("takes one sequence" in note for note in evidence.notes)
    assert len(evidence.alone) == len(evidence.repeated) == 3


def test_planes_of_another_width_are_not_held_against_the_target(capture: Any) -> None:
    evidence = capture(width=7, target="any")
    assert evidence.comparison is None
    ((problem),) = evidence.problems
    assert problem.kind == "target"
    assert problem.reason == ("planes [3, 17, 7] for 17 token ids and width 8 cannot be held against the target")


def test_a_target_that_is_not_there_is_an_error_of_the_call(capture: Any) -> None:
    with pytest.raises(SubjectError, match="does not exist"):
        capture(target="no-such-folder")


def test_the_values_are_the_captures_own(capture: Any) -> None:
    evidence = capture(requests=[[4, 5, 6], [7, 8]])
    for request in (*evidence.alone, *evidence.batched, *evidence.repeated):
        np.testing.assert_array_equal(request.planes[1, :, 3], request.given)
