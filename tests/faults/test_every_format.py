"""A fault is caught whatever it is stored as: in every dataset format, and in every form of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.formats import HABITS
from eagle3_contracts.faults import find_fault
from eagle3_contracts.faults.injecting.checkpoints import CHECKPOINT_INJECTIONS, ENGINES, prepare_export
from eagle3_contracts.faults.injecting.datasets import DATASET_INJECTIONS
from eagle3_contracts.faults.injecting.dumps import dump_golden_texts
from eagle3_contracts.faults.injecting.exports import FORMS, Form
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from support.formats import ALL_WRITERS, GoodSample
from support.museum.conventions import change_contract, store_in
from support.museum.exhibits import judge_subject, sum_up, tell

IN_ROWS = (
    "dataset-ids-one-late",
    "dataset-last-state-early",
    "dataset-final-state-normed",
    "dataset-planes-permuted",
    "dataset-shifted",
    "dataset-unwritten-slots",
    "dataset-id-twice",
    "dataset-states-of-other-request",
    "dataset-foreign-token-ids",
)
"""Faults of rows and ids, which any format can hold."""

IN_TENSORS = (
    "checkpoint-float16",
    "checkpoint-head-missing",
    "checkpoint-d2t-out-of-range",
    "checkpoint-d2t-missing",
    "checkpoint-nan",
)
"""Faults of tensors that bear the same name in every form."""


@pytest.mark.parametrize("fault_id", IN_ROWS)
@pytest.mark.parametrize("name", ALL_WRITERS)
def test_a_fault_is_caught_in_every_format(name: str, fault_id: str, contract: Contract, tmp_path: Path) -> None:
    dataset_format, write = ALL_WRITERS[name]
    habits = {known: habit.final_state for known, habit in HABITS.items()} | {"modelopt": "post_norm"}
    declared = change_contract(contract, store_in(dataset_format, habits[dataset_format]))
    capture = open_embedded_capture(declared)
    capture = type(capture)(capture.weights, capture.shape, declared.stored_planes(dataset_format), "float32")
    dump = dump_golden_texts(tmp_path, capture)
    DATASET_INJECTIONS[fault_id].spoil(dump)
    samples = [
        GoodSample(
            tuple(sample.token_ids.tolist()),
            np.stack([plane.numpy() for plane in sample.planes]),
            tuple(sample.mask.tolist()),
        )
        for sample in dump.samples
    ]
    write(tmp_path / "states", samples)
    found = judge_subject(declared, Subject("dataset", str(tmp_path / "states"), name))
    clause = find_fault(fault_id).clause
    assert sum_up(found)[clause] == Verdict.FAILED, tell(found)


@pytest.mark.parametrize("fault_id", IN_TENSORS)
@pytest.mark.parametrize("form", FORMS)
def test_a_fault_is_caught_in_every_form(form: Form, fault_id: str, contract: Contract, tmp_path: Path) -> None:
    engines = ENGINES if form in {"specforge", "modelopt"} else {"vllm": ENGINES["vllm"]}
    declared, export = prepare_export(contract, tmp_path, form, engines=engines)
    if fault_id == "checkpoint-d2t-missing":
        export.tensors.pop("t2d", None)
        del export.tensors["d2t"]
    else:
        spoil = CHECKPOINT_INJECTIONS[fault_id].spoil
        assert spoil is not None
        spoil(export)
    found = judge_subject(declared, Subject("checkpoint", str(export.write()), form))
    assert sum_up(found)[find_fault(fault_id).clause] == Verdict.FAILED, tell(found)
