"""The catalogue: light to read, complete, and every entry can be put into a subject."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eagle3_contracts.faults import Fault, Kind, faults_of, find_fault, list_faults
from eagle3_contracts.faults.injecting.captures import CAPTURE_INJECTIONS
from eagle3_contracts.faults.injecting.checkpoints import CHECKPOINT_INJECTIONS
from eagle3_contracts.faults.injecting.datasets import DATASET_INJECTIONS
from eagle3_contracts.faults.injecting.documents import DOCUMENT_INJECTIONS
from eagle3_contracts.faults.injecting.goldens import GOLDEN_INJECTIONS
from eagle3_contracts.faults.injecting.launches import LAUNCH_INJECTIONS
from eagle3_contracts.faults.injecting.loaders import LOADER_INJECTIONS
from eagle3_contracts.faults.injecting.servers import SERVER_INJECTIONS
from eagle3_contracts.registry import CLAUSES

IDS = [clause.id for clause in CLAUSES]
LEAVES_OPEN = {"server-states-forbidden", "server-logprobs-null"}
"""What a server may do, and what then cannot be checked: no fault, and shown in test_servers.py."""

STAGED = {
    "contract": DOCUMENT_INJECTIONS,
    "capture": CAPTURE_INJECTIONS,
    "dataset": DATASET_INJECTIONS,
    "loader": LOADER_INJECTIONS,
    "checkpoint": CHECKPOINT_INJECTIONS,
    "launch": LAUNCH_INJECTIONS,
    "server": [fault_id for fault_id in SERVER_INJECTIONS if fault_id not in LEAVES_OPEN],
    "golden": GOLDEN_INJECTIONS,
}


@pytest.mark.parametrize("stage", STAGED)
def test_every_fault_can_be_injected(stage: str) -> None:
    assert [fault.id for fault in faults_of(stage)] == list(STAGED[stage])


def test_every_clause_has_a_fault() -> None:
    assert {fault.clause for fault in list_faults()} == set(IDS)


def test_every_kind_that_these_stages_can_see_has_a_fault() -> None:
    assert {fault.kind for fault in list_faults()} == set(Kind)


@pytest.mark.parametrize("fault", list_faults(), ids=lambda fault: fault.id)
def test_a_fault_names_its_source_and_its_companions(fault: Fault) -> None:
    assert fault.mechanism.endswith(".")
    assert fault.source
    assert {*fault.companions, *fault.unchecked} <= set(IDS) - {fault.clause}
    assert not set(fault.companions) & set(fault.unchecked)
    assert find_fault(fault.id) is fault


def test_ids_are_unique() -> None:
    ids = [fault.id for fault in list_faults()]
    assert len(ids) == len(set(ids))


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(KeyError, match="no fault 'capture-nothing'"):
        find_fault("capture-nothing")


def test_the_catalogue_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; from eagle3_contracts.faults import list_faults; list_faults(); "
        "print([name for name in ('numpy', 'torch', 'pydantic') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert told.stdout.strip() == "[]"
