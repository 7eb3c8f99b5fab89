"""What each captured plane turned out to be: the nearest tensor of the target, judged by margin.

Decided on the median over tokens of the relative L2, sinks excluded (a sink token looks alike at neighbouring
boundaries, and single tokens of a correct bfloat16 capture are off by 0.2). Shared by the capture and dataset
stages; the clauses that speak of it are in ``placement``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from eagle3_contracts.clauses.bounds import LEAST_TOKENS, SEPARATION, UNLIKE
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.tolerances import Governing
from eagle3_contracts.clauses.wording import say_count, say_planes
from eagle3_contracts.contract import Plane
from eagle3_contracts.evidence import Candidate, StateComparison, Table, TargetComparison
from eagle3_contracts.findings import Rung


class Likeness(StrEnum):
    """How well a plane fits the nearest tensor of the target.

    fits: within tolerance, and three times nearer than any other boundary. drifts: above tolerance, yet three
    times nearer. unclear: another boundary is too close to tell. unlike: near no boundary at all.
    """

    FITS = "fits"
    DRIFTS = "drifts"
    UNCLEAR = "unclear"
    UNLIKE = "unlike"


@dataclass(frozen=True, slots=True)
class PlaneFit:
    """What one plane turned out to be.

    ``shift``: row t fits row t + shift of the target's. ``found``: the nearest candidate there, at ``distance``;
    ``rival``: the nearest at another boundary. ``declared_distance``: from what the contract declares, at the
    same shift. ``unshifted`` and ``shifted``: the smallest distance from any candidate at shift 0, and at the
    best other shift, ``other_shift``. ``p99``: of the distance from ``found``, over tokens.
    """

    plane: Plane
    likeness: Likeness
    shift: int
    found: Candidate
    distance: float
    rival: Candidate
    rival_distance: float
    declared_distance: float
    unshifted: float
    shifted: float
    other_shift: int
    p99: float

    @property
    def identified(self) -> bool:
        """Tell whether the plane is known to be ``found``."""
        return self.likeness in {Likeness.FITS, Likeness.DRIFTS}

    @property
    def has_strays(self) -> bool:
        """Tell whether a hundredth of the rows and more is something else than the rest of an identified plane."""
        return self.identified and not self.p99 < UNLIKE

    @property
    def in_place(self) -> bool:
        """Tell whether the plane is known to be at its declared boundary, whatever its norm state."""
        return self.identified and self.found.boundary == self.plane.boundary


@dataclass(frozen=True, slots=True)
class Placement:
    """Where all planes were found, and what that rests on.

    ``branches``: what the last sublayer of a layer adds was among the candidates.
    """

    fits: tuple[PlaneFit, ...]
    governing: Governing
    tokens: int
    sinks: int
    rung: Rung
    branches: bool

    @property
    def bound(self) -> float:
        """The tolerance on the median of the relative L2."""
        return self.governing.relative_l2

    @property
    def found(self) -> str:
        """Say what was found, plane by plane: ``planes are boundaries 0, 3, ?, 59``."""
        told = ", ".join(say_candidate(fit.found) if fit.identified else "?" for fit in self.fits)
        return f"planes are boundaries {told}"

    @property
    def declared(self) -> str:
        """Say what is declared: ``boundaries 3, 31, 59, 61 pre-norm (low, mid, high, final)``."""
        told = ", ".join(say_candidate(declared_candidate(fit.plane)) for fit in self.fits)
        return f"boundaries {told} ({', '.join(fit.plane.name for fit in self.fits)})"

    @property
    def unknown(self) -> tuple[PlaneFit, ...]:
        """Give the planes of which it could not be told what they are."""
        return tuple(fit for fit in self.fits if not fit.identified)

    @property
    def permuted(self) -> bool:
        """Tell whether the declared boundaries are all there, in another order."""
        found = [fit.found.boundary for fit in self.fits]
        declared = [fit.plane.boundary for fit in self.fits]
        return all(fit.identified for fit in self.fits) and found != declared and sorted(found) == sorted(declared)


def say_candidate(candidate: Candidate) -> str:
    """Say a candidate without the word boundary: ``31``, ``61 pre-norm``, ``30 without its residual``."""
    words = {"post_norm": " post-norm", "pre_norm": " pre-norm", "branch": " without its residual"}
    return f"{candidate.boundary}{words.get(candidate.state, '')}"


def name_planes(fits: Sequence[PlaneFit]) -> str:
    """Name planes: ``plane low``, ``planes low, mid``."""
    return say_planes(fit.plane.name for fit in fits)


def declared_candidate(plane: Plane) -> Candidate:
    """Give the candidate that a declared plane should be."""
    return Candidate(plane.boundary, plane.state)


def locate_planes(
    planes: tuple[Plane, ...], comparison: TargetComparison, governing: Governing | Obstacle
) -> Placement | Obstacle:
    """Find what every plane is, or say why that cannot be told."""
    states = comparison.states
    if states is None:
        return Obstacle("the target at hand has no layers to compare with", rung=comparison.rung)
    if isinstance(governing, Obstacle):
        return Obstacle(governing.reason, governing.hint, rung=comparison.rung)
    if states.tokens < LEAST_TOKENS:
        return Obstacle(
            f"{say_count(states.tokens, 'token')} compared ({say_count(states.sinks, 'sink token')} left out); a "
            f"median needs {LEAST_TOKENS}",
            "hold more or longer texts against the target",
            rung=comparison.rung,
        )
    median = np.where(np.isfinite(states.median), states.median, np.inf)
    if median.shape[1] != len(planes):
        told = "; ".join(_nearest(states, median, index) for index in range(median.shape[1]))
        return Obstacle(
            f"{median.shape[1]} planes came, {len(planes)} are declared, so that none can be held against its own "
            f"boundary; nearest are {told}",
            "mend the number of planes first (clause plane-count)",
            rung=comparison.rung,
        )
    absent = [plane for plane in planes if declared_candidate(plane) not in states.candidates]
    if absent:
        return Obstacle(
            f"the target at hand has no {declared_candidate(absent[0])}; its boundaries are 0 to "
            f"{max(candidate.boundary for candidate in states.candidates)}",
            "give the target that the contract names",
            rung=comparison.rung,
        )
    fits = tuple(_fit(states, median, index, plane, governing) for index, plane in enumerate(planes))
    branches = any(candidate.state == "branch" for candidate in states.candidates)
    return Placement(fits, governing, states.tokens, states.sinks, comparison.rung, branches)


def _fit(states: StateComparison, median: Table, index: int, plane: Plane, governing: Governing) -> PlaneFit:
    """Judge one plane: its shift first, then the boundary at that shift."""
    by_shift = median[:, index].min(axis=1)
    at_zero = states.shifts.index(0)
    others = [position for position in range(len(states.shifts)) if position != at_zero]
    other = min(others, key=lambda position: float(by_shift[position]), default=at_zero)
    unshifted, shifted = float(by_shift[at_zero]), float(by_shift[other])
    chosen = other if separates(shifted, unshifted) else at_zero
    row = median[chosen, index]
    nearest = int(np.argmin(row))
    found = states.candidates[nearest]
    rivals = [place for place, candidate in enumerate(states.candidates) if candidate.boundary != found.boundary]
    rival = min(rivals, key=lambda place: float(row[place]))
    distance, rival_distance = float(row[nearest]), float(row[rival])
    return PlaneFit(
        plane=plane,
        likeness=_likeness(distance, rival_distance, governing.relative_l2),
        shift=states.shifts[chosen],
        found=found,
        distance=distance,
        rival=states.candidates[rival],
        rival_distance=rival_distance,
        declared_distance=float(row[states.candidates.index(declared_candidate(plane))]),
        unshifted=unshifted,
        shifted=shifted,
        other_shift=states.shifts[other],
        p99=float(states.p99[chosen, index, nearest]),
    )


def _likeness(distance: float, rival: float, tolerance: float) -> Likeness:
    if not distance < UNLIKE:
        return Likeness.UNLIKE
    if not separates(distance, rival):
        return Likeness.UNCLEAR
    return Likeness.FITS if distance <= tolerance else Likeness.DRIFTS


def separates(near: float, far: float) -> bool:
    """Tell whether ``near`` is nearer than ``far`` by the margin that a verdict needs."""
    return near < UNLIKE and far > 0 and near * SEPARATION <= far


def _nearest(states: StateComparison, median: Table, index: int) -> str:
    row = median[states.shifts.index(0), index]
    place = int(np.argmin(row))
    return f"{say_candidate(states.candidates[place])} at {row[place]:.3g}"
