"""The front of a draft: rows that have been computed, and all that their next step attends to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eagle3_contracts.drafter.attention import KeyValue

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Front:
    """R rows after one step; ``ReferenceDrafter.advance`` takes them one step further.

    ``logits`` [R, D] and ``state`` [R, H], what the next step gets. ``origin`` [R]: the row of step 0 that each
    comes from; ``positions`` [R] or [axes, R]: of this step. ``shared``, by layer: keys and values of all rows of
    step 0. ``trail``, by layer: those of later steps, one for each row. ``documents`` [T] or None.
    """

    step: int
    logits: Tensor
    state: Tensor
    origin: Tensor
    positions: Tensor
    shared: tuple[KeyValue, ...]
    trail: tuple[tuple[KeyValue, ...], ...]
    documents: Tensor | None

    def select(self, rows: Tensor) -> Front:
        """Give some rows, in any order, any of them several times: the children of a tree's nodes."""
        trail = tuple(tuple(KeyValue(own.key[:, rows], own.value[:, rows]) for own in layer) for layer in self.trail)
        return replace(
            self,
            logits=self.logits[rows],
            state=self.state[rows],
            origin=self.origin[rows],
            positions=self.positions[..., rows],
            trail=trail,
        )


def find_visible(origin: Tensor, count: int, documents: Tensor | None, window: int | None, moved: int = 0) -> Tensor:
    """Tell which of ``count`` rows of step 0 each row sees, [R, count]: its own and earlier ones of its document.

    ``window``: how many tokens back, itself included; ``moved``: steps by which the window has moved on since
    step 0 (engines move it; speculators 0.9.0 keeps step 0's in training, models/eagle3/attention.py). A row of
    document -1, padding, sees itself alone.
    """
    import torch

    rows, origin = torch.arange(count, device=origin.device), origin[:, None]
    visible = rows <= origin
    if window is not None:
        visible &= rows > origin + moved - window
    if documents is not None:
        own = documents[origin]
        visible &= (documents == own) & (own != -1)
    return visible | (rows == origin) if moved == 0 else visible
