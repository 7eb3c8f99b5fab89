"""Drafting as an engine does: rows of step 0 arrive as the target accepts tokens, a chain runs ahead of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from eagle3_contracts.drafter.front import Front
from eagle3_contracts.drafter.reference import ReferenceDrafter

if TYPE_CHECKING:
    from torch import Tensor


class Draft(NamedTuple):
    """A chain of drafted tokens [count], the target's ids, and the logits [count, D] that each was taken from."""

    tokens: Tensor
    logits: Tensor


class DraftSession:
    """One sequence being served: its keys and values are kept, and a draft leaves no trace in them."""

    def __init__(self, drafter: ReferenceDrafter) -> None:
        self.drafter = drafter
        self._front: Front | None = None

    def extend(self, fc_input: Tensor, tokens: Tensor, positions: Tensor | None = None) -> Front:
        """Take in rows that the target computed: planes [T, planes x Ht], and the token after each, [T].

        ``positions``, once given, are given always: those that are left out count rows from 0.
        """
        self._front = self.drafter.begin(fc_input, tokens, positions, past=self._front)
        return self._front

    def draft(self, count: int, *, forced: Sequence[int] = ()) -> Draft:
        """Draft ``count`` tokens greedily after the last row; ``forced`` tokens are fed in place of drafted ones.

        Raises ``RuntimeError`` before any row has been taken in.
        """
        import torch

        if self._front is None:
            raise RuntimeError("nothing to draft from: extend the session with rows of the target first")
        ids = self.drafter.target_ids()
        front = self._front.select(torch.tensor([len(self._front.logits) - 1]))
        logits, tokens = [front.logits], [ids[front.logits.argmax(-1)]]
        for step in range(count - 1):
            fed = torch.tensor(forced[step : step + 1]) if step < len(forced) else tokens[-1]
            front = self.drafter.advance(front, fed, window_moves=True)
            logits.append(front.logits)
            tokens.append(ids[front.logits.argmax(-1)])
        return Draft(torch.cat(tokens), torch.cat(logits))
