"""Targets: the reference against which planes are held, whole or in part (the rungs of evidence).

``open_target`` gives the strongest reference that the weights at hand allow. Llama-type models run natively, in
two independent routes (``llama_numpy``, ``llama_torch``); other architectures go through transformers (``hf``).
"""

from __future__ import annotations

from typing import Protocol

from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects.targets.opening import open_target
from eagle3_contracts.subjects.targets.parts import MissingPartError, Part, PartialTarget, TokenIds


class Target(Protocol):
    """A target, whole or in part. What it does not hold raises ``MissingPartError`` when asked for.

    ``holds``: the parts at hand; ``rung``: how much they decide; ``notes``: what was assumed or could not be had;
    ``dtype``: what ``reference`` computes in. Arrays are float32.
    """

    @property
    def source(self) -> str:
        """What the user named."""

    @property
    def holds(self) -> frozenset[Part]:
        """The parts at hand: embedding, norm, head, layers."""

    @property
    def rung(self) -> Rung:
        """How much the parts at hand decide."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or could not be had."""

    @property
    def dtype(self) -> str:
        """The dtype of the computation."""

    @property
    def norm_vector(self) -> Array:
        """The final norm's weight as it is applied, [H]."""

    def reference(self, token_ids: TokenIds) -> ReferenceStates:
        """Run one sequence alone and give all its states; ``ValueError`` for ids outside the vocabulary."""

    def embedding_rows(self, token_ids: TokenIds) -> Array:
        """Give R[0] of these tokens, [T, H]."""

    def final_norm(self, state: Array) -> Array:
        """Apply the final norm to [T, H]."""

    def logits(self, state: Array) -> Array:
        """Give head(state), [T, V], scaled and capped; no norm is applied."""


__all__ = ["MissingPartError", "Part", "PartialTarget", "Target", "TokenIds", "open_target"]
