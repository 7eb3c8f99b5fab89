"""Rules of tools that take no ids: architectures they do not serve, and taps that are hard-coded."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.resolution import Resolution, at_first_forward, at_start, say_planes
from eagle3_contracts.dialects.rule import Default, Ids, Rule


@dataclass(frozen=True)
class UnsupportedRule(Rule):
    """The tool cannot capture auxiliary states of these architectures at all."""

    reason: str

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:  # noqa: ARG002
        """See ``Rule.resolve``."""
        return at_start(self.reason)

    def reach(self, layers: int) -> tuple[Tap, ...]:  # noqa: ARG002
        """See ``Rule.reach``."""
        return ()

    def ids_for(self, tap: Tap, layers: int) -> Ids:  # noqa: ARG002
        """See ``Rule.ids_for``."""
        return ()

    def unreachable(self, tap: Tap, layers: int) -> str:  # noqa: ARG002
        """See ``Rule.unreachable``."""
        return self.reason


@dataclass(frozen=True)
class HardCodedRule(Rule):
    """The tool captures fixed boundaries, in depth order, and has no place for ids."""

    default: Default
    planes: int | None
    refusal: str

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is not None:
            return at_start(self.refusal)
        taps = tuple(Tap(boundary) for boundary in sorted(set(self.default(layers))) if 0 <= boundary < layers)
        if self.planes is not None and len(taps) != self.planes:
            note = f"{layers} layers give {say_planes(len(taps))} where fc takes {self.planes}"
            return at_first_forward(taps, (), note)
        return Resolution(taps)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        return self.resolve(None, layers).taps

    def ids_for(self, tap: Tap, layers: int) -> Ids:  # noqa: ARG002
        """See ``Rule.ids_for``."""
        return ()

    def unreachable(self, tap: Tap, layers: int) -> str:  # noqa: ARG002
        """See ``Rule.unreachable``."""
        return f"{self.refusal}; it captures {list(self.resolve(None, layers).boundaries)}"
