"""SpecForge's dialects: capture goes through SGLang's setter, so the ids mean what they mean there.

0.1.0 (3234e24a): no list can be given - the online path is hard-coded, and the offline script passes
``--aux-hidden-states-layers`` on as a string, which the setter cannot add one to. 0.2.0: exactly three ids,
none negative (algorithms/model_providers.py: resolve_eagle_capture_layers), read by SGLang 0.5.14, its pin.
Both store the final state post-norm beside the three planes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.resolution import Resolution, at_start
from eagle3_contracts.dialects.rule import Ids, Rule, reference_boundaries, reference_layers
from eagle3_contracts.dialects.sglang import DIALECTS as SGLANG_DIALECTS
from eagle3_contracts.dialects.unsupported import HardCodedRule

SPECFORGE = Tool(
    name="specforge",
    purpose="capture",
    read=("0.1.0", "0.2.0"),
    takes="model.aux_hidden_state_layer_ids, else the draft's eagle_config.eagle_aux_hidden_state_layer_ids",
    dataset_format="specforge",
)
SGLANG_PIN = "0.5.14"


@dataclass(frozen=True, kw_only=True)
class ThroughSglangRule(Rule):
    """Three ids from 0 on, then SGLang's rule for the architecture."""

    inner: Rule
    exactly: int | None = 3

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        listed = reference_layers(layers) if ids is None else ids
        if len(listed) != self.exactly or min(listed) < 0:
            return at_start(f"exactly three non-negative ids are taken, not {list(listed)}", listed)
        return self.inner.resolve(listed, layers)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """See ``Rule.reach``."""
        return tuple(tap for tap in self.inner.reach(layers) if self.ids_for(tap, layers))

    def ids_for(self, tap: Tap, layers: int) -> Ids:
        """See ``Rule.ids_for``."""
        return tuple(value for value in self.inner.ids_for(tap, layers) if value >= 0)

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap in self.inner.reach(layers):
            return f"{tap} takes a negative id, and ids must not be negative"
        return self.inner.unreachable(tap, layers)


def through_sglang() -> Iterator[Dialect]:
    """Give the dialects of 0.2: what SGLang's pinned release says of each architecture, for three ids."""
    for dialect in SGLANG_DIALECTS:
        if dialect.covers(SGLANG_PIN):
            yield Dialect(
                tool=SPECFORGE,
                versions=">=0.2,<0.3",
                architectures=dialect.architectures,
                rule=ThroughSglangRule(inner=dialect.rule),
                beside="post_norm",
                source=f"specforge/algorithms/model_providers.py over {dialect.source} {SGLANG_PIN}",
            )


DIALECTS = (
    Dialect(
        tool=SPECFORGE,
        versions=">=0.1,<0.2",
        rule=HardCodedRule(reference_boundaries, 3, "0.1.0 passes a list on as a string, which fails (TypeError)"),
        beside="post_norm",
        source="specforge/core/eagle3.py:99-114, scripts/prepare_hidden_states.py:307",
    ),
    *through_sglang(),
)
