"""SGLang's rules: a setter that shifts the whole list, and a loop over layers that picks from the result.

Each model has its own setter and loop (``sglang/srt/models``): ``set_eagle3_layers_to_capture`` makes a list
of boundaries of the ids, ``forward`` captures what it meets of them on the way up. So planes come in depth
order, repetitions collapse, and boundaries that the loop never meets are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from eagle3_contracts.boundaries import State, Tap
from eagle3_contracts.dialects.resolution import Resolution, at_first_forward, at_start, say_planes
from eagle3_contracts.dialects.rule import Ids, Rule, reference_boundaries


class Shift(StrEnum):
    """What the setter does to a list of ids."""

    PLUS_ONE = "+1"
    PLUS_ONE_IF_FIRST_IS_1 = "+1 if the first id is 1"
    PLUS_ONE_UNLESS_MAXIMUM_IS_N = "+1 unless the largest id is n"


class Capture(StrEnum):
    """What the forward pass captures of the boundaries that the setter asked for."""

    LAYER_INPUTS = "0..n-1, others are left out"
    LAYER_INPUTS_AND_FINAL = "0..n, others are left out"
    MARKED_LAYERS = "0..n-1 by marking layers: negative ones count from the end, others raise IndexError"
    NOTHING = "nothing: the setter marks no layer"


_SHIFTS: dict[Shift, Callable[[Ids, int], bool]] = {
    Shift.PLUS_ONE: lambda _ids, _layers: True,
    Shift.PLUS_ONE_IF_FIRST_IS_1: lambda ids, _layers: bool(ids) and ids[0] == 1,
    Shift.PLUS_ONE_UNLESS_MAXIMUM_IS_N: lambda ids, layers: not (ids and max(ids) == layers),
}
FC_SKIPPED = "fc is skipped in silence if one plane is as wide as the drafter"


@dataclass(frozen=True, kw_only=True)
class SglangRule(Rule):
    """The rule of one model class in a range of versions.

    ``packed``: planes go to a packer that counts them (layers/aux_hidden_states.py). ``state``: what is
    captured above the embedding. ``shifted_default``: without ids, the default is shifted too.
    ``planes``: the width of fc in planes where the drafter does not take it from the list (before 0.5.12).
    ``embedding``: boundary 0 can be captured; where it cannot, the loop adds a residual that does not exist
    yet. ``graphs_use_default``: CUDA graphs are captured with the default ids whatever the list says (before 0.5.11).
    """

    shift: Shift = Shift.PLUS_ONE
    capture: Capture = Capture.LAYER_INPUTS
    packed: bool = False
    state: State = "raw"
    shifted_default: bool = False
    planes: int | None = None
    embedding: bool = True
    graphs_use_default: bool = False

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is None:
            return self._capture(reference_boundaries(layers), self.setter(None, layers), layers)
        if self.planes is not None and ids and len(ids) != self.planes:
            return at_start(f"the drafter's fc is {self.planes} planes wide, so weights for {len(ids)} do not load")
        resolution = self._capture(ids, self.setter(ids, layers), layers)
        if self.graphs_use_default and resolution.runs and resolution.taps != self.resolve(None, layers).taps:
            note = "CUDA graphs are captured with the default ids; only --disable-cuda-graph uses these throughout"
            return Resolution(resolution.taps, resolution.ignored, resolution.outcome, note)
        return resolution

    def setter(self, ids: Ids | None, layers: int) -> Ids:
        """Give the boundaries that ``set_eagle3_layers_to_capture`` makes of the ids, or of their absence."""
        listed = reference_boundaries(layers) if ids is None else ids
        shifts = self.shifted_default if ids is None else _SHIFTS[self.shift](ids, layers)
        return tuple(value + 1 for value in listed) if shifts else listed

    def unmarkable(self, asked: Ids, layers: int) -> Ids:
        """Give the boundaries on which the setter raises IndexError, since no layer of that number can be marked."""
        marks = self.capture is Capture.MARKED_LAYERS
        return tuple(value for value in asked if marks and not -layers <= value < layers)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        last = {Capture.LAYER_INPUTS_AND_FINAL: layers + 1, Capture.NOTHING: 0}.get(self.capture, layers)
        return tuple(self._tap(boundary, layers) for boundary in range(0 if self.embedding else 1, last))

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        if tap not in self.reach(layers):
            return ()
        wraps = self.capture is Capture.MARKED_LAYERS
        boundaries = (tap.boundary, tap.boundary - layers) if wraps else (tap.boundary,)
        unshifted = () if self.shift is Shift.PLUS_ONE else boundaries
        return (*(boundary - 1 for boundary in boundaries), *unshifted)

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if self.capture is Capture.NOTHING:
            return "the setter of these versions marks no layer, so nothing is captured"
        if tap == Tap(0):
            return "R[0] cannot be captured: the loop adds a residual that does not exist before layer 0 (TypeError)"
        if tap.state == "post_norm":
            return f"auxiliary states are taken before the final norm, so {tap} cannot be captured"
        if tap.boundary == layers and self._tap(layers, layers).state == tap.state:
            return f"R[{layers}] cannot be captured: planes are taken on entry of a layer, and none follows the last"
        if self.state == "branch" and tap.boundary:
            return f"the capture leaves out the residual (sglang PR #39286), so {tap} cannot be had"
        return super().unreachable(tap, layers)

    def _tap(self, boundary: int, layers: int) -> Tap:
        if boundary and self.state != "raw":
            return Tap(boundary, self.state)
        return Tap(boundary, "pre_norm" if boundary == layers else "raw")

    def _capture(self, ids: Ids, asked: Ids, layers: int) -> Resolution:
        """Pick what the loop meets of the boundaries asked for, and count it against fc."""
        reach = {tap.boundary: tap for tap in self.reach(layers)}
        if not self.embedding and 0 in asked and self.capture is not Capture.NOTHING:
            return at_first_forward((), (), self.unreachable(Tap(0), layers))
        met = {value: value for value in asked if value in reach}
        outside = self.unmarkable(asked, layers)
        if outside:
            return at_start(f"marking layer {outside[0]} of {layers} raises IndexError", ids)
        if self.capture is Capture.MARKED_LAYERS:
            met = {value: value % layers for value in asked}
        taps = tuple(reach[boundary] for boundary in sorted(set(met.values())))
        ignored = _ignored(ids, tuple(met.get(value) for value in asked))
        return self._count(taps, ignored, len(ids))

    def _count(self, taps: tuple[Tap, ...], ignored: Ids, expected: int) -> Resolution:
        """Compare the planes captured with those that fc takes."""
        if len(taps) == expected and taps:
            return Resolution(taps, ignored)
        if not taps:
            return at_first_forward((), ignored, "no plane is captured, and the model's forward unpacks a pair")
        if self.packed:
            return at_first_forward(taps, ignored, f"captured {len(taps)} of {expected} aux hidden states")
        note = f"captures {say_planes(len(taps))} where fc expects {expected}"
        return at_first_forward(taps, ignored, f"{note}; {FC_SKIPPED}" if len(taps) == 1 else note)


def _ignored(ids: Ids, boundaries: tuple[int | None, ...]) -> Ids:
    """Give the ids without a boundary, and those whose boundary an earlier one of the list already has."""
    seen: set[int] = set()
    ignored = []
    for value, boundary in zip(ids, boundaries, strict=True):
        if boundary is None or boundary in seen:
            ignored.append(value)
        else:
            seen.add(boundary)
    return tuple(ignored)
