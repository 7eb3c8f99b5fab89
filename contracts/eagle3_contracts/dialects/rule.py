"""Rules: how a tool turns a whole list of ids into taps, and what it takes to reach a tap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.boundaries import Tap, tap_at
from eagle3_contracts.dialects.resolution import Outcome, Resolution, at_first_forward, at_start, say_planes

Ids = tuple[int, ...]
Order = Literal["depth", "list"]
Default = Callable[[int], Ids]
"""The ids that a tool falls back to without a list, by the number of layers."""


class Rule(ABC):
    """One tool's reading of a list of ids; a pure function of the whole list and the number of layers n.

    ``order``: ``depth`` where planes come in ascending order whatever the list says, ``list`` where they
    come as listed. ``exactly``: the number of planes the tool insists on, None for any.
    """

    order: Order = "depth"
    exactly: int | None = None

    @abstractmethod
    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """Say what the list means; None is the absence of a list, which is not the empty list."""

    @abstractmethod
    def reach(self, layers: int) -> tuple[Tap, ...]:
        """Give every tap that some list captures."""

    @abstractmethod
    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """Give every id that captures the tap in some list; empty where no id does."""

    def appended(self, layers: int) -> Tap | None:  # noqa: ARG002
        """Give the tap that the tool adds to every list that does not ask for it."""
        return None

    def arrange(self, taps: Iterable[Tap], layers: int) -> tuple[Tap, ...]:  # noqa: ARG002
        """Put taps in the order in which the tool concatenates them, each once where it captures each once."""
        return tuple(taps) if self.order == "list" else tuple(sorted(set(taps)))

    def unreachable(self, tap: Tap, layers: int) -> str:
        """Say why no list captures a tap that ``reach`` does not hold."""
        if not 0 <= tap.boundary <= layers:
            return f"the target has boundaries 0..{layers}"
        return f"{tap} cannot be captured"


@dataclass(frozen=True, kw_only=True)
class LayerRule(Rule):
    """Planes picked one id at a time: id k taps boundary k + ``shift``.

    ``first``: the lowest boundary it captures. ``final``: how it captures boundary n, None if it cannot.
    ``stray``: what an id out of reach does - left out, or an error at start or at the first forward.
    ``counted``: fc is as wide as the list is long, so that fewer planes than ids fail when they meet.
    """

    shift: int
    default: Default | None
    default_missing: str = "it takes its ids from the command line or the draft's config only"
    first: int = 0
    final: Literal["pre_norm", "post_norm"] | None = "pre_norm"
    order: Order = "depth"
    stray: Literal["ignored", "start", "forward"] = "ignored"
    distinct: bool = False
    counted: bool = True
    empty_is_absent: bool = False
    exactly: int | None = None

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is None or (not ids and self.empty_is_absent):
            if self.default is None:
                return at_start(self.default_missing)
            ids = self.default(layers)
        refused = self._refuse(ids, layers)
        if refused is not None:
            return refused
        picked = [(value, tap) for value in ids if (tap := self._tap(value, layers)) is not None]
        strays = [value for value in ids if self._tap(value, layers) is None]
        if strays and self.stray == "forward":
            return at_first_forward((), strays, f"ids {strays} are out of range")
        return self._collect(ids, picked, strays)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        last = () if self.final is None else (Tap(layers, self.final),)
        return (*(Tap(boundary) for boundary in range(self.first, layers)), *last)

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        return (tap.boundary - self.shift,) if tap in self.reach(layers) else ()

    def _tap(self, value: int, layers: int) -> Tap | None:
        boundary = value + self.shift
        if boundary == layers:
            return None if self.final is None else Tap(layers, self.final)
        return tap_at(boundary, layers) if self.first <= boundary < layers else None

    def _refuse(self, ids: Ids, layers: int) -> Resolution | None:
        """Say why the tool stops before it starts, or None."""
        if not ids:
            return at_start("the list is empty")
        if self.exactly is not None and len(ids) != self.exactly:
            return at_start(f"it takes exactly {self.exactly} ids, not {len(ids)}")
        if self.distinct and len(set(ids)) != len(ids):
            return at_start("ids must be distinct")
        strays = [value for value in ids if self._tap(value, layers) is None]
        if strays and self.stray == "start":
            low, high = self.first - self.shift, layers - self.shift - (self.final is None)
            return at_start(f"ids {strays} are outside {low}..{high}", strays)
        return None

    def _collect(self, ids: Ids, picked: list[tuple[int, Tap]], strays: Iterable[int]) -> Resolution:
        """Put the planes in order; ``depth`` collapses repetitions, ``list`` keeps them."""
        taps = tuple(tap for _, tap in picked)
        ignored = list(strays)
        if self.order == "depth":
            ignored += repeated(value for value, _ in picked)
            taps = tuple(sorted(set(taps)))
        if self.counted and len(taps) != len(ids):
            return at_first_forward(taps, ignored, f"captures {say_planes(len(taps))} where fc expects {len(ids)}")
        return Resolution(taps, tuple(ignored), Outcome.RUNS)


def repeated(values: Iterable[int]) -> list[int]:
    """List every occurrence of a value after its first."""
    seen: set[int] = set()
    again = []
    for value in values:
        if value in seen:
            again.append(value)
        seen.add(value)
    return again


def reference_boundaries(layers: int) -> Ids:
    """Give 2, n//2, n-3, as tools whose ids are boundaries write their default."""
    return 2, layers // 2, layers - 3


def reference_layers(layers: int) -> Ids:
    """Give 1, n//2-1, n-4: the same boundaries where id k means the output of layer k."""
    return 1, layers // 2 - 1, layers - 4
