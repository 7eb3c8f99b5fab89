"""All planes that a wrong capture of SmolLM2 could give, each held against the target once.

A wrong artifact is then a choice from this bank, and its evidence the distances that were measured for the choice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, ReferenceStates, StateComparison, Table, TargetComparison
from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16
from eagle3_contracts.subjects.captures.halfway import measure_halfway
from eagle3_contracts.subjects.datasets.probing import RememberingTarget
from eagle3_contracts.subjects.targets.comparing import compare_planes
from support.smollm2 import LAYERS

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

BOUNDARIES = range(LAYERS + 1)

Choice = Mapping[int, str]
"""What stands in the places of some boundaries: a kind of plane, see ``make_kinds``."""


@dataclass(frozen=True)
class Bank:
    """The planes of every kind [31, T, H], rounded as they are stored, and what the target says of each kind."""

    contract: Contract
    computed: str
    tokens: tuple[int, ...]
    planes: Mapping[str, Array]
    comparisons: Mapping[str, TargetComparison]
    halfways: Mapping[str, tuple[tuple[int, float], ...]]

    def chosen_planes(self, choice: Choice) -> Array:
        """Give the planes of an artifact that is right but for the choice."""
        return self._choose(choice, lambda kind: self.planes[kind])

    def comparison(self, choice: Choice) -> TargetComparison:
        """Give what the target says of that artifact; logits are those of its plane 30."""
        right = self.comparisons["true"]
        states = dataclasses.replace(
            self.states("true"),
            median=self._choose(choice, lambda kind: self.states(kind).median.swapaxes(0, 1)).swapaxes(0, 1),
            p99=self._choose(choice, lambda kind: self.states(kind).p99.swapaxes(0, 1)).swapaxes(0, 1),
        )
        return dataclasses.replace(
            right,
            states=states,
            logits=self.comparisons[choice.get(LAYERS, "true")].logits,
            embedding_distance=self._choose(choice, lambda kind: _given(self.comparisons[kind].embedding_distance)),
            norm_vector_rms=self._choose(choice, lambda kind: _given(self.comparisons[kind].norm_vector_rms)),
        )

    def halfway(self, choice: Choice) -> tuple[tuple[int, float], ...]:
        """Give how near each plane of that artifact is to a state in the middle of a layer."""
        return tuple(self.halfways[choice.get(place, "true")][place] for place in BOUNDARIES)

    def states(self, kind: str) -> StateComparison:
        """Give the distances of the planes of one kind."""
        states = self.comparisons[kind].states
        assert states is not None
        return states

    def _choose(self, choice: Choice, table: Callable[[str], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Put together rows of the tables of several kinds, one per place."""
        return np.stack([table(choice.get(place, "true"))[place] for place in BOUNDARIES])


def make_bank(target: Target, contract: Contract, computed: str, states: ReferenceStates) -> Bank:
    """Hold every kind of plane against the target, made from states computed in ``computed``, stored in bfloat16."""
    tokens = tuple(states.token_ids.tolist())
    planes = {
        kind: bfloat16_to_float32(float32_to_bfloat16(values))
        for kind, values in make_kinds(target.final_norm, states).items()
    }
    remembering = cast("Target", RememberingTarget(target))
    comparisons = {kind: compare_planes(remembering, contract, [(tokens, values)]) for kind, values in planes.items()}
    halfways = {kind: measure_halfway(remembering, [(tokens, values)]) for kind, values in planes.items()}
    return Bank(contract, computed, tokens, planes, comparisons, halfways)


def make_kinds(final_norm: Callable[[Array], Array], states: ReferenceStates) -> dict[str, Array]:
    """Give, for every place 0 to 30, what a capture could put there: right, and wrong in each way."""
    true = states.boundaries
    assert states.branches is not None
    return {
        "true": true,
        "below": np.concatenate([true[:1], true[:-1]]),
        "above": np.concatenate([true[1:], true[-1:]]),
        "normed": np.stack([*(final_norm(state) for state in true[:-1]), states.final]),
        "next": np.roll(true, -1, axis=1),
        "previous": np.roll(true, 1, axis=1),
        "branch": np.concatenate([true[:1], states.branches]),
        "halfway": np.concatenate([true[1:] - states.branches, true[-1:]]),
    }


def _given(table: Table | None) -> Table:
    assert table is not None
    return table
