"""The shapes that a golden recording of a contract's target and drafter must have, sequence by sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eagle3_contracts.contract.document import Contract

Shapes = Mapping[str, tuple[int, ...]]

_MOST_STEPS = 64


def state_shapes(contract: Contract, rows: int, found: Shapes) -> dict[str, tuple[int, ...]]:
    """Give the shape of each part of the states of ``rows`` tokens.

    ``found``: what lies there, by part. It decides the form: where ``top_ids`` lies, the largest K logits are kept with
    their log-sum-exp, and K is free; else there is a logit for every token.
    """
    target = contract.target
    shapes: dict[str, tuple[int, ...]] = {
        "boundaries": (target.num_hidden_layers + 1, rows, target.hidden_size),
        "final": (rows, target.hidden_size),
    }
    if "top_ids" not in found:
        return {**shapes, "logits": (rows, target.vocab_size)}
    kept = _free(found["top_ids"], 1, 2, target.vocab_size)
    return {**shapes, "top_ids": (rows, kept), "top_logits": (rows, kept), "log_sum_exp": (rows,)}


def draft_shapes(contract: Contract, rows: int, found: Shapes) -> dict[str, tuple[int, ...]]:
    """Give the shape of each part of the drafts of ``rows`` tokens, none for a single one; steps and K are free."""
    if rows < 2:
        return {}
    steps = _free(found.get("drafted", ()), 1, 2, _MOST_STEPS)
    kept = _free(found.get("top_ids", ()), 2, 3, contract.drafter.draft_vocab_size)
    three = (steps, rows - 1, kept)
    return {"drafted": (rows - 1, steps), "top_ids": three, "top_logits": three, "log_sum_exp": (steps, rows - 1)}


def _free(shape: tuple[int, ...], axis: int, axes: int, most: int) -> int:
    """Give a free size within 1 and ``most``: what no sound recording has then shows as another shape."""
    return min(max(1, shape[axis]), most) if len(shape) == axes else 1
