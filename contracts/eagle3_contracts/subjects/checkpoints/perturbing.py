"""Whether every tensor matters: the reference drafter's logits with one tensor changed at a time.

An upstream case: seven tensors were allocated and loaded, and a norm among them was never wired into the graph
(charlie12345/ROCmFPX issue #44).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import INTEGER_TENSORS, ReferenceDrafter, expected_tensors, fill_borrowed

if TYPE_CHECKING:
    from torch import Tensor

TOKENS, STEPS = 12, 2
LARGEST = 6 << 30
"""Bytes of tensors in float32 above which the drafter is not run."""


def complete_weights(
    contract: Contract, stored: Mapping[str, Tensor], embedding: Tensor | None, head: Tensor | None, seed: int
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Add what the target lends; without a target, random rows. Give the names that are random as well."""
    import torch

    weights = fill_borrowed(contract, stored, embedding, head)
    draw = torch.Generator().manual_seed(seed)
    invented = []
    for name, (shape, borrowed) in expected_tensors(contract).items():
        if borrowed and name not in weights:
            weights[name] = torch.randn(shape, generator=draw) * (1.0 if "embed" in name else shape[-1] ** -0.5)
            invented.append(name)
    return weights, tuple(invented)


def measure_responses(contract: Contract, weights: Mapping[str, Tensor], seed: int) -> dict[str, float]:
    """Give, for each tensor of the drafter, the relative L2 by which logits move when noise of its own size is added.

    Runs two steps over a dozen random rows, in float32. Raises ``WeightsError`` if tensors are missing or misshapen.
    """
    import torch

    draw = torch.Generator().manual_seed(seed)
    fed = len(contract.drafter.input) * contract.target.hidden_size
    fc_input = 3 * torch.randn(TOKENS, fed, generator=draw)
    tokens = torch.randint(0, contract.target.vocab_size, (TOKENS,), generator=draw)

    def run(tensors: Mapping[str, Tensor]) -> Tensor:
        steps = ReferenceDrafter(contract, tensors).forward(fc_input, tokens, steps=STEPS)
        return torch.cat([step.logits for step in steps])

    responses: dict[str, float] = {}
    with torch.no_grad():
        plain = run(weights)
        size = float(plain.norm()) or 1.0
        for name in expected_tensors(contract):
            if name in INTEGER_TENSORS:
                continue
            tensor = weights[name]
            scale = float(tensor.square().mean().sqrt()) or 1.0
            noise = 0.5 * scale * torch.randn(tensor.shape, generator=draw)
            responses[name] = float((run({**weights, name: tensor + noise}) - plain).norm()) / size
    return responses
