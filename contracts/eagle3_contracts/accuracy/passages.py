"""Passages: text with the target's states beside it, as a drafter is fed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.evidence import ReferenceStates


@dataclass(frozen=True, slots=True)
class Passage:
    """One sequence: ``tokens`` [T], ``fc_input`` [T, P x Ht], and what the target would choose after each, [T].

    Row t of the drafter is state t with token t + 1, and drafts token t + 2. ``choices``: None where not known.
    """

    tokens: Tensor
    fc_input: Tensor
    choices: Tensor | None = None


def passage_from_states(contract: Contract, states: ReferenceStates) -> Passage:
    """Give the passage of a contract's drafter, from all states of one sequence."""
    import torch

    planes = [
        states.final if plane.state == "post_norm" else states.boundaries[plane.boundary]
        for plane in contract.input_planes()
    ]
    return Passage(
        torch.from_numpy(np.asarray(states.token_ids, np.int64)),
        torch.from_numpy(np.ascontiguousarray(np.concatenate(planes, axis=-1), np.float32)),
        torch.from_numpy(states.logits.argmax(axis=-1).astype(np.int64)),
    )
