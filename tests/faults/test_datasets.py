"""A sound dataset raises nothing, and a fault is caught without a target wherever the files show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import Fault, faults_of
from eagle3_contracts.faults.injecting.datasets import inject_dataset, prepare_dump
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.subjects import Subject
from support.museum.exhibits import judge_subject, sum_up, tell

WEIGHTLESS = [fault for fault in faults_of("dataset") if not clause(fault.clause).needs]


@pytest.mark.parametrize("fault", WEIGHTLESS, ids=lambda fault: fault.id)
def test_what_needs_no_target_is_caught_without_one(fault: Fault, contract: Contract, tmp_path: Path) -> None:
    changed, folder = inject_dataset(fault.id, contract, tmp_path / "states")
    found = judge_subject(changed, Subject("dataset", str(folder), "faulty"), target=False)
    assert sum_up(found)[fault.clause] == Verdict.FAILED


@pytest.mark.parametrize(("suffix", "embedding"), [(".pt", False), (".ckpt", False), (".pt", True)])
def test_a_sound_dump_raises_nothing(suffix: str, embedding: Any, contract: Contract, tmp_path: Path) -> None:
    changed, dump = prepare_dump(contract, tmp_path / "states", suffix, embedding=embedding)
    assert tell(judge_subject(changed, Subject("dataset", str(dump.write()), "sound"))) == ""


@pytest.mark.parametrize("done", ["rolled", "inverted"])
def test_a_mask_that_is_rolled_or_inverted_is_told_from_no_file(done: str, contract: Contract, tmp_path: Path) -> None:
    """The page and the README say so: a clause that tells it must change them."""
    changed, dump = prepare_dump(contract, tmp_path / "states", ".pt", embedding=False)
    for sample in dump.samples:
        before = sample.mask.clone()
        sample.mask.copy_(1 - before if done == "inverted" else before.roll(1, 0))
        assert not sample.mask.equal(before)
    assert tell(judge_subject(changed, Subject("dataset", str(dump.write()), "masked"))) == ""
