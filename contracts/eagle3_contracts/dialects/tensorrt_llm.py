"""TensorRT-LLM's dialects: id k is the output of layer k, id -1 is final_norm(R[n]), ids are sorted.

Serving keeps -1 first, as sorting puts it; dumping (SaveHiddenStates) moves it to the end and adds it if it
was not asked for. A slot whose id no layer answers to is never written: uninitialised memory, no error.
Read in the repository (_torch/speculative/eagle3.py, save_hidden_state.py, models/modeling_utils.py), since
the package index holds a stub only; which release a reading belongs to is by date.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.resolution import Resolution, at_start
from eagle3_contracts.dialects.rule import Ids, Rule, reference_layers, repeated

TENSORRT_LLM = Tool(
    name="tensorrt-llm",
    purpose="serve",
    read=("1.2.1",),
    takes="the engine's argument eagle3_layers_to_capture",
    dataset_format="tensorrt-llm",
)
POST_NORM = -1
UNWRITTEN = "the slots of ids that no layer answers to are never written: uninitialised memory"

TWICE = "-1 is written anyhow; asked for, it stands among aux_hidden_states as well"


@dataclass(frozen=True, kw_only=True)
class SlotRule(Rule):
    """One slot per id of the sorted set; ``dumping`` moves -1 to the end and adds it where it is missing."""

    dumping: bool = False

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is None and layers <= 5:
            return at_start(f"{layers} layers are too few for the default (5 or fewer raise ValueError)")
        if ids is not None and not ids:
            return at_start("the set of layers to capture is empty")
        slots = reference_layers(layers) if ids is None else tuple(sorted(set(ids)))
        if self.dumping:
            slots = (*(value for value in slots if value != POST_NORM), POST_NORM)
        taps = tuple(tap for value in dict.fromkeys(slots) if (tap := self._tap(value, layers)) is not None)
        strays = [value for value in slots if self._tap(value, layers) is None]
        ignored = (*strays, *repeated(ids if ids is not None else slots))
        asked_for_normed = self.dumping and ids is not None and POST_NORM in ids
        note = UNWRITTEN if len(taps) < len(slots) else TWICE if asked_for_normed else ""
        return Resolution(taps, ignored, note=note)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        inner = (Tap(boundary) for boundary in range(1, layers))
        return (*inner, Tap(layers, "pre_norm"), Tap(layers, "post_norm"))

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        if tap == Tap(layers, "post_norm"):
            return (POST_NORM,)
        return (tap.boundary - 1,) if tap in self.reach(layers) else ()

    def appended(self, layers: int) -> Tap | None:
        """See ``Rule.appended``."""
        return Tap(layers, "post_norm") if self.dumping else None

    def arrange(self, taps: Iterable[Tap], layers: int) -> tuple[Tap, ...]:
        """See ``Rule.arrange``."""
        normed = Tap(layers, "post_norm")
        inner = tuple(sorted(tap for tap in set(taps) if tap != normed))
        last = (normed,) if normed in set(taps) else ()
        return (*inner, *last) if self.dumping else (*last, *inner)

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap.boundary == 0:
            return "R[0] cannot be captured: id k is the output of layer k, and -1 is the normed final state"
        return super().unreachable(tap, layers)

    def _tap(self, value: int, layers: int) -> Tap | None:
        if value == POST_NORM:
            return Tap(layers, "post_norm")
        if not 0 <= value < layers:
            return None
        return Tap(value + 1, "pre_norm" if value + 1 == layers else "raw")


DIALECTS = (
    Dialect(
        tool=TENSORRT_LLM,
        versions=">=1.0,<1.3",
        rule=SlotRule(),
        source="tensorrt_llm/_torch/speculative/eagle3.py (repository, 001e670)",
    ),
    Dialect(
        tool=TENSORRT_LLM,
        versions=">=1.0,<1.3",
        setting="SaveHiddenStates",
        purpose="capture",
        rule=SlotRule(dumping=True),
        source="tensorrt_llm/_torch/speculative/save_hidden_state.py (repository)",
    ),
)
