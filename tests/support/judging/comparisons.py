"""Comparisons with a target, made up: each plane is told what it shall turn out to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eagle3_contracts.evidence import Candidate, LogitComparison, StateComparison, TargetComparison
from eagle3_contracts.findings import Rung
from support.judging.documents import LAYERS

SHIFTS = (-2, -1, 0, 1, 2)
CANDIDATES = (
    *(Candidate(boundary) for boundary in range(LAYERS)),
    Candidate(LAYERS, "pre_norm"),
    Candidate(LAYERS, "post_norm"),
    *(Candidate(boundary, "branch") for boundary in range(1, LAYERS + 1)),
)
_STATES: dict[str, Literal["pre_norm", "post_norm", "branch"]] = {"": "pre_norm", "n": "post_norm", "b": "branch"}
_APART = 0.4


@dataclass(frozen=True, slots=True)
class Plane:
    """What a plane shall turn out to be: ``boundary`` at ``distance``, the next boundary at ``rival``.

    ``p99``: of its distance. ``twin``: the same boundary in other states.
    ``state``: empty for the residual stream, "n" after the final norm, "b" for a layer's last sublayer alone.
    """

    boundary: int
    distance: float = 0.01
    state: Literal["", "n", "b"] = ""
    shift: int = 0
    rival: float = _APART
    p99: float = 0.02
    twin: float = 0.9

    @property
    def candidate(self) -> Candidate:
        if not self.state and self.boundary < LAYERS:
            return Candidate(self.boundary)
        return Candidate(self.boundary, _STATES[self.state])


DECLARED = (Plane(2), Plane(4), Plane(6), Plane(8))
"""The planes low, mid, high and final of the toy contract, as they should be."""


def compare_states(
    planes: Sequence[Plane] = DECLARED, *, tokens: int = 105, sinks: int = 3, far: float = 1.3
) -> StateComparison:
    """Make up the distances from every candidate: ``far`` at other shifts, nearer at other boundaries and states."""
    median = np.full((len(SHIFTS), len(planes), len(CANDIDATES)), far)
    p99 = median * 1.5
    for index, plane in enumerate(planes):
        row = median[SHIFTS.index(plane.shift), index]
        for place, candidate in enumerate(CANDIDATES):
            steps = abs(candidate.boundary - plane.boundary)
            if candidate == plane.candidate:
                row[place] = plane.distance
                p99[SHIFTS.index(plane.shift), index, place] = plane.p99
            elif candidate.state in {"raw", "pre_norm"} and steps:
                row[place] = plane.rival + 0.1 * (steps - 1)
            elif not steps:
                row[place] = plane.twin
            else:
                row[place] = 0.9
    return StateComparison(CANDIDATES, SHIFTS, median, p99, tokens, sinks)


def cut_candidates(states: StateComparison, count: int) -> StateComparison:
    """Leave out all candidates but the first so many."""
    median, p99 = states.median[..., :count], states.p99[..., :count]
    return replace(states, candidates=states.candidates[:count], median=median, p99=p99)


def at_shift(states: StateComparison, shift: int) -> StateComparison:
    """Leave out all shifts but one."""
    place = slice(states.shifts.index(shift), states.shifts.index(shift) + 1)
    return replace(states, shifts=(shift,), median=states.median[place], p99=states.p99[place])


def near_shift(states: StateComparison, shift: int, factor: float) -> StateComparison:
    """Bring what lies at another shift nearer."""
    median = states.median.copy()
    median[states.shifts.index(shift)] *= factor
    return replace(states, median=median)


def rebuild_logits(plane: int = 3, *, reading: str = "pre_norm", off: float = 0.05) -> tuple[LogitComparison, ...]:
    """Make up rebuilt logits of one plane: off by little under ``reading``, by much under the others."""
    readings: tuple[Literal["pre_norm", "post_norm", "double_norm"], ...] = ("pre_norm", "post_norm", "double_norm")
    return tuple(
        LogitComparison(plane, name, 3.3 if name == reading else 11.0, off, off / 10, 0.99)
        if name == reading
        else LogitComparison(plane, name, 11.0, 9.1, 6.6, 0.96)
        for name in readings
    )


def read_text(nll: dict[str, float], plane: int = 3) -> tuple[LogitComparison, ...]:
    """Make up the text's likelihood by reading, without the target's own logits."""
    readings: tuple[Literal["pre_norm", "post_norm", "double_norm"], ...] = ("pre_norm", "post_norm", "double_norm")
    return tuple(LogitComparison(plane, name, nll[name]) for name in readings)


def compare(
    planes: Sequence[Plane] = DECLARED,
    *,
    logits: tuple[LogitComparison, ...] | None = None,
    states: StateComparison | None = None,
    rung: Rung = Rung.FULL,
    embedding: Sequence[float] = (1.2, 1.3, 1.4, 1.4),
    norm_rms: Sequence[float] = (0.9, 1.9, 3.0, 21.3),
) -> TargetComparison:
    """Make up everything that a full target tells of the toy's planes."""
    return TargetComparison(
        rung=rung,
        tokens=108,
        states=states or compare_states(planes),
        logits=rebuild_logits() if logits is None else logits,
        embedding_distance=np.array(embedding),
        norm_vector_rms=np.array(norm_rms),
    )
