"""Small drafters trained in seconds, on the Kimi-like toy and on the embedded target, wired as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from eagle3_contracts.boundaries import Tap, tap_at
from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis import DraftSample, sample_from_states
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.recording.drafting import DraftRecipe, Lesson, train_drafter
from eagle3_contracts.subjects.targets import Target

Logits = Callable[[ReferenceStates], Array]


@dataclass(frozen=True)
class School:
    """A target with the sequences that drafters learn from and are judged by, as in the story: training data."""

    contract: Contract
    target: Target
    states: Sequence[ReferenceStates]

    @cached_property
    def samples(self) -> list[DraftSample]:
        return [sample_from_states(item) for item in self.states]

    @cached_property
    def embedding(self) -> Tensor:
        return torch.from_numpy(self.target.embedding_rows(range(self.contract.target.vocab_size)))

    def train(
        self,
        boundaries: tuple[int, ...],
        *,
        seed: int = 0,
        updates: int = 160,
        steps: int = 1,
        logits: Logits = lambda states: states.logits,
        lessons: slice = slice(None),
    ) -> dict[str, Tensor]:
        """Train a drafter on these boundaries, on the target's logits or on others computed from its states."""
        made = [
            Lesson(
                torch.from_numpy(item.token_ids),
                torch.from_numpy(np.concatenate([item.boundaries[at] for at in boundaries], axis=-1)),
                torch.from_numpy(np.asarray(logits(item), np.float32)),
            )
            for item in self.states[lessons]
        ]
        recipe = DraftRecipe(seed=seed, updates=updates, batch=6, rate=8e-3, warmup=20, steps=steps)
        return train_drafter(self.contract, made, recipe, self.embedding)

    def double_norm(self, states: ReferenceStates) -> Array:
        return self.target.logits(self.target.final_norm(states.final))

    def norm_at(self, boundary: int) -> Logits:
        """Give logits as if this boundary were the final state."""
        return lambda states: self.target.logits(self.target.final_norm(states.boundaries[boundary]))


def with_input(contract: Contract, boundaries: tuple[int, ...]) -> Contract:
    """Give the contract whose drafter is fed these boundaries, with planes declared for them."""
    layers = contract.target.num_hidden_layers
    names = {Tap(plane.boundary, plane.state): plane.name for plane in contract.planes}
    values = contract.model_dump(mode="json", by_alias=True)
    for boundary in boundaries:
        tap = tap_at(boundary, layers)
        if tap not in names:
            names[tap] = f"r{boundary}"
            values["planes"].append({"name": names[tap], "boundary": boundary, "state": tap.state})
    values["drafter"]["input"] = [names[tap_at(boundary, layers)] for boundary in boundaries]
    return Contract.model_validate_json(json.dumps(values))
