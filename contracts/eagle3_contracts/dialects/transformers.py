"""The dialect of transformers' ``output_hidden_states``: an index into a tuple of n + 1 states.

Index k < n is R[k], but index n is final_norm(R[n]): post-norm. Negative indices count from the end, so
``hidden_states[-1]`` is post-norm too, and ``[-2]`` is R[n-1].
"""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.resolution import Resolution, at_first_forward, at_start
from eagle3_contracts.dialects.rule import Default, Ids, Order, Rule

TRANSFORMERS = Tool(
    name="transformers",
    purpose="capture",
    read=("4.57.6", "5.19.0", "5.24.0"),
    takes="indices into outputs.hidden_states (output_hidden_states=True)",
)


@dataclass(frozen=True, kw_only=True)
class TupleIndexRule(Rule):
    """Id k is ``hidden_states[k + shift]`` of a tuple of n + 1; in list order, with repetitions.

    ``exactly``: the number of planes that fc takes, None where nothing counts them.
    """

    shift: int = 0
    default: Default | None = None
    exactly: int | None = None
    order: Order = "list"

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is None and self.default is None:
            return at_start("nothing is picked unless indices are given")
        picked = self.default(layers) if ids is None and self.default else ids or ()
        indices = [value + self.shift for value in picked]
        outside = [value for value, index in zip(picked, indices, strict=True) if not -layers - 1 <= index <= layers]
        if outside:
            return at_first_forward((), outside, f"hidden_states has {layers + 1} entries: IndexError for {outside}")
        taps = tuple(_tap(index % (layers + 1), layers) for index in indices)
        if not taps:
            return at_first_forward((), (), "torch.cat of no planes")
        if self.exactly is not None and len(taps) != self.exactly:
            note = f"fc takes {self.exactly} planes, not {len(taps)}"
            return at_first_forward(taps, (), note)
        return Resolution(taps)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        return tuple(_tap(index, layers) for index in range(layers + 1))

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        if tap not in self.reach(layers):
            return ()
        return tap.boundary - self.shift, tap.boundary - layers - 1 - self.shift

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap == Tap(layers, "pre_norm"):
            return f"hidden_states[{layers}] is post-norm; hook the last layer to get R[{layers}]"
        return super().unreachable(tap, layers)


def _tap(index: int, layers: int) -> Tap:
    return Tap(index, "post_norm" if index == layers else "raw")


DIALECTS = (
    Dialect(
        tool=TRANSFORMERS,
        versions=">=4.57,<5.25",
        rule=TupleIndexRule(),
        source="transformers/utils/output_capturing.py (5.x), modeling_llama.py (4.57)",
    ),
)
