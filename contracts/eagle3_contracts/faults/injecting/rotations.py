"""An orthogonal rotation of the residual stream, as QuaRot applies it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def rotate(states: Tensor) -> Tensor:
    """Multiply [..., H] by a Hadamard matrix with random signs; H is a power of two."""
    import torch

    width = states.shape[-1]
    matrix = torch.ones(1, 1)
    while len(matrix) < width:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    signs = torch.randint(0, 2, (width,), generator=torch.Generator().manual_seed(0)) * 2.0 - 1
    rotated: Tensor = (states.float() * signs) @ matrix / width**0.5
    return rotated.to(states.dtype)
