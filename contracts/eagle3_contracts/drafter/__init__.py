"""The oracle: the EAGLE-3 drafter in plain PyTorch, with every variant that a contract can state.

``ReferenceDrafter`` takes a contract and tensors under canonical names (``expected_tensors``; other tools' names are
turned into them by ``canonical_names``) and runs step 0 and further steps, as trainers do over whole sequences
(``forward``) and as engines do, token by token (``DraftSession``). ``TargetHead`` gives what it is trained to predict.

Held against SpecForge 0.2.0, speculators 0.9.0, ModelOpt 0.47.0, EAGLE's own draft model and transformers 5.19.0 to
1e-5 in float32 (tests/peers, tests/architectures, tests/unit/drafter). torch is imported when a drafter is built.
"""

from __future__ import annotations

from eagle3_contracts.drafter.front import Front
from eagle3_contracts.drafter.reference import ReferenceDrafter, Step
from eagle3_contracts.drafter.renames import RENAMES, Renames, canonical_names
from eagle3_contracts.drafter.serving import Draft, DraftSession
from eagle3_contracts.drafter.shapes import (
    INTEGER_TENSORS,
    ExpectedTensor,
    expected_target_tensors,
    expected_tensors,
)
from eagle3_contracts.drafter.targets import TargetHead, fill_borrowed
from eagle3_contracts.drafter.weights import WeightsError

__all__ = [
    "INTEGER_TENSORS",
    "RENAMES",
    "Draft",
    "DraftSession",
    "ExpectedTensor",
    "Front",
    "ReferenceDrafter",
    "Renames",
    "Step",
    "TargetHead",
    "WeightsError",
    "canonical_names",
    "expected_target_tensors",
    "expected_tensors",
    "fill_borrowed",
]
