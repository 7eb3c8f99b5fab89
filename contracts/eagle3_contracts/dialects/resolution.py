"""What a list of layer ids comes to in one dialect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from eagle3_contracts.boundaries import Tap


class Outcome(StrEnum):
    """How far a tool gets with a list of ids."""

    RUNS = "runs"
    CRASHES_AT_START = "crashes at start"
    CRASHES_AT_FIRST_FORWARD = "crashes at the first forward"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The planes that a list gives, in the order in which they are concatenated.

    ``taps`` holds what is captured, also where the tool crashes over the rest. ``ignored``: ids of the list
    that yield no plane of their own (out of reach, or a repetition that collapses). ``note``: why it
    crashes, or what an engineer must know although it runs.
    """

    taps: tuple[Tap, ...]
    ignored: tuple[int, ...] = ()
    outcome: Outcome = Outcome.RUNS
    note: str = ""

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The boundaries alone; their states stand in ``taps``."""
        return tuple(tap.boundary for tap in self.taps)

    @property
    def runs(self) -> bool:
        """Tell whether the tool gets through its first forward."""
        return self.outcome is Outcome.RUNS

    def means(self, layout: Iterable[Tap]) -> bool:
        """Tell whether the list gives exactly this layout: it runs, ignores no id, same taps, same order."""
        return self.runs and not self.ignored and self.taps == tuple(layout)


def say_planes(count: int) -> str:
    """Say how many: ``1 plane``, ``3 planes``."""
    return "1 plane" if count == 1 else f"{count} planes"


def at_start(note: str, ignored: Iterable[int] = ()) -> Resolution:
    """Give the resolution of a list that stops the tool before it loads or runs anything."""
    return Resolution((), tuple(ignored), Outcome.CRASHES_AT_START, note)


def at_first_forward(taps: Iterable[Tap], ignored: Iterable[int], note: str) -> Resolution:
    """Give the resolution of a list that is accepted and fails when the planes are put together."""
    return Resolution(tuple(taps), tuple(ignored), Outcome.CRASHES_AT_FIRST_FORWARD, note)
