"""What a drafter is trained to predict, and what it borrows: both come from the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter.shapes import TARGET_HEAD, TARGET_NORM, expected_target_tensors
from eagle3_contracts.drafter.weights import DrafterWeights, apply_norm

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class TargetHead:
    """The target's head over last hidden states, with its final norm where the contract puts it.

    ``weights``: the tensors of ``expected_target_tensors``. The logits are those that trainers compute, without the
    target's ``logit_scale`` and ``logit_softcap``, which change no order.
    """

    def __init__(self, contract: Contract, weights: Mapping[str, Tensor], dtype: torch.dtype | None = None) -> None:
        import torch

        self.norm = contract.target.norm
        self.weights = DrafterWeights(weights, expected_target_tensors(contract), self.norm, dtype or torch.float32)

    def logits(self, last_hidden: Tensor, target_ids: Tensor | None = None) -> Tensor:
        """Give logits [T, V], or [T, D] in the order of the draft ids whose ``target_ids`` are given."""
        import torch

        state, head = last_hidden.to(self.weights.dtype), self.weights[TARGET_HEAD]
        if TARGET_NORM in self.weights:
            state = apply_norm(self.norm, state, self.weights[TARGET_NORM])
        return torch.nn.functional.linear(state, head if target_ids is None else head[target_ids])

    @staticmethod
    def at_step(targets: Tensor, step: int) -> Tensor:
        """Shift step 0's targets [T, ...] left by ``step``, zeros behind: rows that ``Step.valid`` leaves out."""
        import torch

        return torch.cat((targets[step:], torch.zeros_like(targets[:step])))


def fill_borrowed(
    contract: Contract, weights: Mapping[str, Tensor], embedding: Tensor | None, head: Tensor | None
) -> dict[str, Tensor]:
    """Add what the target lends to a drafter's tensors; what the weights hold themselves is kept.

    ``embedding`` [V, H] and ``head`` [V, H]: the target's. The head's rows of the draft vocabulary are picked by
    d2t, so those rows need ``d2t`` among the weights; without it nothing is filled in.
    """
    import torch

    drafter, filled = contract.drafter, dict(weights)
    if drafter.embedding == "target" and embedding is not None:
        filled.setdefault("embed_tokens.weight", embedding)
    if head is None or drafter.lm_head not in {"target", "target_rows"} or "lm_head.weight" in filled:
        return filled
    if drafter.lm_head == "target" or drafter.d2t == "none":
        filled["lm_head.weight"] = head
    elif "d2t" in filled:
        d2t = filled["d2t"].to(torch.int64)
        first = 0 if drafter.d2t == "absolute" else torch.arange(len(d2t))
        filled["lm_head.weight"] = head[d2t + first]
    return filled
