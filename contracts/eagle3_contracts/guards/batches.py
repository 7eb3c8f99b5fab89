"""The batches of real trainers as the loader protocol names their parts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from eagle3_contracts.guards.refusal import GuardError
from eagle3_contracts.subjects.loaders import specforge, speculators
from eagle3_contracts.subjects.loaders.protocol import StepZero

SPECULATORS = frozenset({"hidden_states", "input_ids", "verifier_last_hidden_states", "loss_mask", "position_ids"})
SPECFORGE = frozenset({"hidden_state", "input_ids", "target", "loss_mask", "attention_mask"})
HEAD = "specforge.modeling.target.target_head"


def read_step_zero(batch: Any) -> tuple[StepZero, str | None]:
    """Read a batch by the keys that it has, and give the dataset format that its trainer reads, None if nobody knows.

    Raises ``GuardError`` for a batch of no trainer that is known.
    """
    if isinstance(batch, StepZero):
        return batch, None
    table = getattr(batch, "tensors", batch)
    if not isinstance(table, Mapping):
        raise GuardError(f"eagle3-contracts: a batch of type {type(batch).__name__} is none that is known. {_FORMS}")
    if table.keys() >= SPECULATORS and ("document_ids" in table or "lengths" in table):
        return speculators.read_step_zero(dict(table)), "speculators-arrow"
    if table.keys() >= SPECFORGE:
        return specforge.read_step_zero(dict(table), _preprocess()), "specforge"
    keys = ", ".join(sorted(map(str, table))) or "no keys"
    raise GuardError(f"eagle3-contracts: a batch with {keys} is none that is known. {_FORMS}")


_FORMS = (
    "Give what the loader of speculators 0.4 to 0.9 or of SpecForge 0.2 yields, or what reaches the drafter as "
    "eagle3_contracts.StepZero(fc_input=..., tokens=..., last_hidden=..., mask=...)"
)


def _preprocess() -> Any:
    """Give the shift of the SpecForge that is installed; it asks nothing of the head that it belongs to."""
    try:
        return import_module(HEAD).TargetHead.preprocess
    except (ImportError, AttributeError) as error:
        message = f"eagle3-contracts: COULD NOT CHECK the batch: {HEAD}.TargetHead.preprocess cannot be had ({error})"
        raise GuardError(f"{message}. Shift it as your script does, and give StepZero(...)") from error
