"""speculators' dialects: until 0.4 its own vLLM worker, from 0.5 on vLLM's extractor.

Until 0.4 id k is the output of layer k, and the default captures boundaries 3, n//2+1, n-2 and n, while its
export left the ids out, so that engines served 2, n//2, n-3. From 0.5 on ids are boundaries and
``launch_vllm.py`` adds n (``--no-include-last-layer`` leaves it out); the ids are given twice, to
``launch_vllm.py`` and to the trainer, which checks them since 0.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.modelopt import OutputRule
from eagle3_contracts.dialects.over_vllm import OverVllmRule, newest_rules
from eagle3_contracts.dialects.rule import Ids, reference_boundaries

SPECULATORS = Tool(
    name="speculators",
    purpose="capture",
    read=("0.3.0", "0.4.0", "0.4.0.1", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "0.8.1", "0.9.0"),
    takes="--target-layer-ids of launch_vllm.py and of the trainer (until 0.4: layer_ids of the generator)",
    dataset_format="speculators-arrow",
)


@dataclass(frozen=True, kw_only=True)
class WorkerRule(OutputRule):
    """A frozenset of layer indices within 0..n-1, captured in depth order after each layer."""

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap.state == "post_norm":
            return f"the worker captures R[{layers}] before the final norm, so {tap} cannot be captured"
        return super().unreachable(tap, layers)


def worker_default(layers: int) -> Ids:
    """Give the generator's default of 0.3 and 0.4: boundary ids where layer ids are meant, and the last layer."""
    return 2, layers // 2, layers - 3, layers - 1


def with_last(ids: Ids | None, layers: int) -> Ids:
    """Give the list that launch_vllm.py passes on: the ids, and n if it is not among them."""
    listed = reference_boundaries(layers) if ids is None else ids
    return listed if layers in listed else (*listed, layers)


def as_listed(ids: Ids | None, layers: int) -> Ids:
    """Give the list under --no-include-last-layer; the default has n all the same (launch_vllm.py)."""
    return (*reference_boundaries(layers), layers) if ids is None else ids


_WORKER = WorkerRule(shift=1, first=1, default=worker_default, stray="start", counted=False)


def launched() -> Iterator[Dialect]:
    """Give the dialects from 0.5 on: with and without the last layer, for each rule of the newest vLLM."""
    for versions, validated in ((">=0.5,<0.8", False), (">=0.8,<0.10", True)):
        for setting, translate, appends in (("", with_last, True), ("--no-include-last-layer", as_listed, False)):
            for architectures, rule in newest_rules():
                yield Dialect(
                    tool=SPECULATORS,
                    versions=versions,
                    setting=setting,
                    architectures=architectures,
                    rule=OverVllmRule(inner=rule, translate=translate, appends=appends, validated=validated),
                    source="scripts/launch_vllm.py, speculators/models/utils.py: resolve_target_layer_ids",
                )


DIALECTS = (
    Dialect(
        tool=SPECULATORS,
        versions=">=0.3,<0.5",
        rule=_WORKER,
        source="data_generation/vllm_hidden_states_generator.py, custom_worker.py",
    ),
    *launched(),
)
