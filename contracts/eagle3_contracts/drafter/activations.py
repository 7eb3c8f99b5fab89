"""Activations of the MLP, under the names that transformers' ``hidden_act`` has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

ACTIVATIONS = ("silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu2")


def activate(name: str, state: Tensor) -> Tensor:
    """Apply the named activation; ``ValueError`` names those that are known."""
    from torch.nn import functional

    if name in {"silu", "swish"}:
        return functional.silu(state)
    if name in {"gelu_new", "gelu_pytorch_tanh"}:
        return functional.gelu(state, approximate="tanh")
    if name == "gelu":
        return functional.gelu(state)
    if name in {"relu", "relu2"}:
        return functional.relu(state) ** (2 if name == "relu2" else 1)
    raise ValueError(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}")
