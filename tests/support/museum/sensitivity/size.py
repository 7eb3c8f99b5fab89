"""A fault whose size can be chosen, and how the smallest size that is caught is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.evidence import Array

Caught = Callable[[Contract, float, int], bool]
"""Tells of a contract, a size and the number of a draw whether the clause fails."""

HALVINGS = 7
DRAWS = 10


@dataclass(frozen=True, slots=True)
class Size:
    """A fault whose size can be chosen. ``low`` is not caught, ``high`` is; ``whole``: sizes are counts.

    ``drawn``: where the fault lies or what it is made of is drawn, so that it is caught with a probability.
    """

    what: str
    clause: str
    caught: Caught
    low: float
    high: float
    whole: bool = False
    drawn: bool = True

    def share_caught(self, contract: Contract, size: float) -> float:
        """Give the share of draws, none of them that of ``measure``, in which a fault of this size is caught."""
        return sum(self.caught(contract, size, draw) for draw in range(1, DRAWS + 1)) / DRAWS


def measure(size: Size, contract: Contract) -> tuple[float, float]:
    """Give the largest size seen to pass and the smallest seen to fail; each within a hundredth of the range."""
    if not size.caught(contract, size.high, 0) or size.caught(contract, size.low, 0):
        raise ValueError(f"{size.what}: {size.low} must pass and {size.high} must fail")
    low, high = size.low, size.high
    for _ in range(HALVINGS):
        middle = (low + high) // 2 if size.whole else (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (low, middle) if size.caught(contract, middle, 0) else (middle, high)
    return low, high


def stir(rows: Tensor, share: float, draw: int) -> Tensor:
    """Add noise to rows [..., H] whose norm is a share of each row's own."""
    import torch

    noise = torch.randn(rows.shape, generator=torch.Generator().manual_seed(1000 * draw + rows.shape[-2]))
    size = rows.float().norm(dim=-1, keepdim=True) / noise.norm(dim=-1, keepdim=True)
    stirred: Tensor = rows.float() + share * size * noise
    return stirred.to(rows.dtype)


def stir_array(rows: Array, share: float, draw: int) -> Array:
    """Do as ``stir`` does, to an array."""
    noise = np.random.default_rng([draw, *rows.shape]).standard_normal(rows.shape)
    size = np.linalg.norm(rows, axis=-1, keepdims=True) / np.linalg.norm(noise, axis=-1, keepdims=True)
    return np.asarray(rows + share * size * noise, np.float32)


def pick(total: int, count: float, draw: int) -> list[int]:
    """Draw so many different places of all of them."""
    return np.random.default_rng([draw, total]).permutation(total)[: int(count)].tolist()


def stir_matrices(tensors: dict[str, Tensor], share: float, draw: int) -> None:
    """Add noise to every matrix in place, a share of its standard deviation."""
    import torch

    chance = torch.Generator().manual_seed(draw + 1)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.ndim == 2:
            noise = torch.randn(tensor.shape, generator=chance) * tensor.float().std()
            tensors[name] = (tensor.float() + share * noise).to(tensor.dtype)
