"""The contract: one versioned document that says what the hidden states are and how the drafter uses them."""

from eagle3_contracts.contract.document import Alignment, Contract, Serving, Storage, Tolerance
from eagle3_contracts.contract.drafter import Drafter, FcInput, GqaAttention, MlaAttention, Rope
from eagle3_contracts.contract.loading import ContractError, Defect, list_catalog, load_contract, resolve_contract
from eagle3_contracts.contract.planes import NormRange, Plane
from eagle3_contracts.contract.target import Norm, Target, Tokenizer

__all__ = [
    "Alignment",
    "Contract",
    "ContractError",
    "Defect",
    "Drafter",
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
