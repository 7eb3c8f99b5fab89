"""How good a drafter is without a server: accuracy per step, accept length, agreement with a golden recording.

Everything runs the reference drafter over passages of text with the target's states; nothing is sampled.
"""

from __future__ import annotations

from eagle3_contracts.accuracy.agreement import Agreement, compare_with_recorded, make_drafts
from eagle3_contracts.accuracy.passages import Passage, passage_from_states
from eagle3_contracts.accuracy.simulation import (
    AcceptLength,
    accept_chains,
    accept_trees,
    simulate_chain,
    simulate_tree,
)
from eagle3_contracts.accuracy.steps import StepAccuracy, measure_steps

__all__ = [
    "AcceptLength",
    "Agreement",
    "Passage",
    "StepAccuracy",
    "accept_chains",
    "accept_trees",
    "compare_with_recorded",
    "make_drafts",
    "measure_steps",
    "passage_from_states",
    "simulate_chain",
    "simulate_tree",
]
