"""Every way of being wrong at every boundary of a real target, judged by the capture stage's clauses.

All planes that a wrong capture could give are held against the target at once (a bank); a wrong capture is then a
choice of planes from the bank, and its evidence the distances that were measured for them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import (
    Array,
    CapturedRequest,
    CaptureEvidence,
    ReferenceStates,
    StateComparison,
    TargetComparison,
)
from eagle3_contracts.findings import Verdict
from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects.datasets.probing import RememberingTarget
from eagle3_contracts.subjects.targets import open_target
from eagle3_contracts.subjects.targets.comparing import compare_planes
from support.smollm2 import LAYERS, every_boundary

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

PLACED = ("capture.boundary", "capture.order", "capture.residual", "capture.token-shift", "capture.final-state")
BOUNDARIES = range(LAYERS + 1)
TOKENS = 80
"""Enough that 64 and more are left without the sinks; few enough that the bank is made in seconds."""

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

    def evidence(self, choice: Choice) -> CaptureEvidence:
        """Give the evidence of a capture that is right but for the chosen planes."""
        kinds = [choice.get(boundary, "true") for boundary in BOUNDARIES]
        planes = np.stack([self.planes[kind][boundary] for boundary, kind in enumerate(kinds)])
        right = self.comparisons["true"]
        states = dataclasses.replace(
            self.states("true"),
            median=np.stack([self.states(kind).median[:, place] for place, kind in enumerate(kinds)], axis=1),
            p99=np.stack([self.states(kind).p99[:, place] for place, kind in enumerate(kinds)], axis=1),
        )
        logits = self.comparisons[kinds[-1]].logits
        request = CapturedRequest(self.tokens, self.tokens, planes, "bfloat16", tuple(plane.shape for plane in planes))
        return CaptureEvidence(
            "bank",
            alone=(request,),
            compute_dtype=self.computed,
            comparison=dataclasses.replace(right, states=states, logits=logits),
        )

    def states(self, kind: str) -> StateComparison:
        """Give the distances of the planes of one kind."""
        states = self.comparisons[kind].states
        assert states is not None
        return states

    def failed(self, choice: Choice) -> set[str]:
        """Judge it by the clauses on the planes' place; give those that failed."""
        evidence = self.evidence(choice)
        found = [item for name in PLACED for item in judge_clause(clause(name), self.contract, evidence)]
        return {item.clause for item in found if item.verdict is Verdict.FAILED}


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def bank(
    request: pytest.FixtureRequest,
    model_path: Path,
    texts: list[list[int]],
    states_of: Callable[[str, tuple[int, ...]], ReferenceStates],
) -> Bank:
    tokens = tuple(texts[0][:TOKENS])
    states = states_of(request.param, tokens)
    contract = every_boundary("bfloat16")
    target = open_target(str(model_path), contract)
    planes = {kind: _store(values) for kind, values in make_kinds(target.final_norm, states).items()}
    remembering = cast("Target", RememberingTarget(target))
    comparisons = {kind: compare_planes(remembering, contract, [(tokens, values)]) for kind, values in planes.items()}
    return Bank(contract, request.param, tokens, planes, comparisons)


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
    }


def _store(states: Array) -> Array:
    """Round to bfloat16, as a dataset or a served target would."""
    return bfloat16_to_float32(float32_to_bfloat16(states))


def test_the_right_planes_pass(bank: Bank) -> None:
    evidence = bank.evidence({})
    verdicts = {
        (item.clause, item.verdict) for name in PLACED for item in judge_clause(clause(name), bank.contract, evidence)
    }
    assert verdicts == {(name, Verdict.PASSED) for name in PLACED}


def test_sink_tokens_are_among_the_tokens_and_say_little(bank: Bank) -> None:
    """At the sinks a neighbour looks like the boundary itself, which is why they are left out."""
    states = bank.states("true")
    assert states.sinks >= 1
    assert states.tokens + states.sinks == len(bank.tokens)
    assert states.sink_median is not None
    assert states.sink_median[4, 5] < 0.02
    assert states.median[states.shifts.index(0), 4, 5] > 0.2


def expect(clause_id: str, boundary: int) -> set[str]:
    """Give the clauses that fail for another tensor at a boundary: at boundary 30 it is no final state either."""
    return {clause_id} | ({"capture.final-state"} if boundary == LAYERS else set())


@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_a_plane_one_boundary_too_low(bank: Bank, boundary: int) -> None:
    assert bank.failed({boundary: "below"}) == expect("capture.boundary", boundary)


@pytest.mark.parametrize("boundary", BOUNDARIES[:-1])
def test_a_plane_one_boundary_too_high(bank: Bank, boundary: int) -> None:
    assert bank.failed({boundary: "above"}) == {"capture.boundary"}


@pytest.mark.parametrize("boundary", BOUNDARIES[:-1])
def test_two_neighbours_swapped(bank: Bank, boundary: int) -> None:
    assert bank.failed({boundary: "above", boundary + 1: "below"}) == {"capture.order"}


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_the_final_norm_applied_to_a_plane(bank: Bank, boundary: int) -> None:
    expected = "capture.final-state" if boundary == LAYERS else "capture.boundary"
    assert bank.failed({boundary: "normed"}) == {expected}


@pytest.mark.parametrize("kind", ["next", "previous"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_plane_shifted_by_a_token(bank: Bank, boundary: int, kind: str) -> None:
    assert bank.failed({boundary: kind}) == {"capture.token-shift"}


@pytest.mark.parametrize("boundary", BOUNDARIES[1:])
def test_a_plane_without_its_residual(bank: Bank, boundary: int) -> None:
    assert bank.failed({boundary: "branch"}) == expect("capture.residual", boundary)
