"""Rules of capture tools that run vLLM (``extract_hidden_states``): they make a list, vLLM reads it.

The rule of vLLM is that of the newest release read, since the tools do not pin one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eagle3_contracts.boundaries import Tap, tap_at
from eagle3_contracts.dialects.resolution import Resolution, at_start
from eagle3_contracts.dialects.rule import Ids, Rule
from eagle3_contracts.dialects.vllm import DIALECTS as VLLM_DIALECTS
from eagle3_contracts.dialects.vllm import VLLM


@dataclass(frozen=True, kw_only=True)
class OverVllmRule(Rule):
    """A list made of the user's ids (``translate``), then read by vLLM (``inner``).

    ``shift``: what the tool adds to an id. ``appends``: it adds id n to every list. ``validated``: ids must
    be distinct and within 0..n, checked by the trainer.
    """

    inner: Rule
    translate: Callable[[Ids | None, int], Ids]
    shift: int = 0
    appends: bool = True
    validated: bool = False

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is not None and not ids:
            return at_start("the list is empty")
        if self.validated and ids and (len(set(ids)) != len(ids) or not 0 <= min(ids) <= max(ids) <= layers):
            return at_start(f"ids must be distinct and within 0..{layers} (resolve_target_layer_ids)", ids)
        inner = self.inner.resolve(self.translate(ids, layers), layers)
        dropped = tuple(value for value in ids or () if self.shift and value >= layers)
        listed = tuple(value - self.shift for value in inner.ignored if value - self.shift in (ids or ()))
        return replace(inner, ignored=(*listed, *dropped))

    def appended(self, layers: int) -> Tap | None:
        """See ``Rule.appended``."""
        return tap_at(layers, layers) if self.appends else None

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        return self.inner.reach(layers)

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        return tuple(value - self.shift for value in self.inner.ids_for(tap, layers))

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        return f"vLLM: {self.inner.unreachable(tap, layers)}"


def newest_rules() -> tuple[tuple[tuple[str, ...], Rule], ...]:
    """Give the architectures and rules of the newest vLLM that was read."""
    return tuple((dialect.architectures, dialect.rule) for dialect in VLLM_DIALECTS if dialect.covers(VLLM.last_read))
