"""The catalogue of faults, stage by stage."""

from eagle3_contracts.faults.catalogue.capture import CAPTURE_FAULTS
from eagle3_contracts.faults.catalogue.checkpoint import CHECKPOINT_FAULTS
from eagle3_contracts.faults.catalogue.checkpoint_parts import CHECKPOINT_PART_FAULTS
from eagle3_contracts.faults.catalogue.contract import CONTRACT_FAULTS
from eagle3_contracts.faults.catalogue.dataset import DATASET_FAULTS
from eagle3_contracts.faults.catalogue.dataset_rows import DATASET_ROW_FAULTS
from eagle3_contracts.faults.catalogue.golden import GOLDEN_FAULTS
from eagle3_contracts.faults.catalogue.launch import LAUNCH_FAULTS
from eagle3_contracts.faults.catalogue.loader import LOADER_FAULTS
from eagle3_contracts.faults.catalogue.server import SERVER_FAULTS
from eagle3_contracts.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *CONTRACT_FAULTS,
    *CAPTURE_FAULTS,
    *DATASET_FAULTS,
    *DATASET_ROW_FAULTS,
    *LOADER_FAULTS,
    *CHECKPOINT_FAULTS,
    *CHECKPOINT_PART_FAULTS,
    *LAUNCH_FAULTS,
    *SERVER_FAULTS,
    *GOLDEN_FAULTS,
)


def list_faults() -> tuple[Fault, ...]:
    """Give every fault, in the order of the stages."""
    return FAULTS


def faults_of(stage: str) -> tuple[Fault, ...]:
    """Give the faults of one stage."""
    return tuple(fault for fault in FAULTS if fault.stage == stage)


def find_fault(fault_id: str) -> Fault:
    """Give the fault of that id; ``KeyError`` names the command that lists them."""
    for fault in FAULTS:
        if fault.id == fault_id:
            return fault
    raise KeyError(f"no fault {fault_id!r}; `eagle3-contracts faults` lists them")
