"""The contract: one versioned document that says what the hidden states are and how the drafter uses them."""

from eagle3_contracts.contract.defects import ContractError, Defect
from eagle3_contracts.contract.document import Alignment, Contract, Serving, Tolerance
from eagle3_contracts.contract.drafter import Drafter, FcInput, GqaAttention, MlaAttention
from eagle3_contracts.contract.formats import DatasetFormat, Dtype
from eagle3_contracts.contract.loading import list_catalog, load_contract, resolve_contract
from eagle3_contracts.contract.planes import NormRange, Plane
from eagle3_contracts.contract.rope import Rope
from eagle3_contracts.contract.storage import Storage
from eagle3_contracts.contract.target import Norm, Target, Tokenizer

__all__ = [
    "Alignment",
    "Contract",
    "ContractError",
    "DatasetFormat",
    "Defect",
    "Drafter",
    "Dtype",
    "FcInput",
    "GqaAttention",
    "MlaAttention",
    "Norm",
    "NormRange",
    "Plane",
    "Rope",
    "Serving",
    "Storage",
    "Target",
    "Tokenizer",
    "Tolerance",
    "list_catalog",
    "load_contract",
    "resolve_contract",
]
