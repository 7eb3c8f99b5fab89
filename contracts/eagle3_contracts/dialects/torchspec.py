"""TorchSpec's dialects (lightseekorg/TorchSpec, 6f21829): id k is the output of layer k in every engine.

With transformers it hooks the layers and concatenates in list order. With vLLM it adds one to each id,
drops those from n on, appends n, and vLLM sorts; the last plane is kept as the last hidden state. Its
export adds one to the ids for vLLM only where ``model_type`` is kimi_k2 (tools/convert_to_hf.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.modelopt import OutputRule
from eagle3_contracts.dialects.over_vllm import OverVllmRule, newest_rules
from eagle3_contracts.dialects.resolution import Resolution, at_first_forward
from eagle3_contracts.dialects.rule import Ids, reference_layers, repeated

TORCHSPEC = Tool(
    name="torchspec",
    purpose="train",
    read=("6f21829",),
    takes="inference.aux_hidden_states_layers",
    dataset_format="torchspec",
)


@dataclass(frozen=True)
class HookRule(OutputRule):
    """Hooks on layers, gathered in list order; a repeated id leaves fewer states than ids (RuntimeError)."""

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if ids is not None and len(set(ids)) != len(ids) and all(0 <= value < layers for value in ids):
            return at_first_forward((), repeated(ids), f"captures {len(set(ids))} layers where {len(ids)} are listed")
        return super().resolve(ids, layers)


def listed_for_vllm(ids: Ids | None, layers: int) -> Ids:
    """Give the list that TorchSpec hands to vLLM: ids below n plus one, and n."""
    listed = reference_layers(layers) if ids is None else ids
    shifted = tuple(value + 1 for value in listed if value < layers)
    return shifted if layers in shifted else (*shifted, layers)


DIALECTS = (
    Dialect(
        tool=TORCHSPEC,
        versions="",
        setting="engine hf",
        rule=HookRule(shift=1, first=1, default=reference_layers, order="list", stray="forward"),
        beside="post_norm",
        source="torchspec/models/target/eagle3_target_model.py: HFTargetModel",
    ),
    *(
        Dialect(
            tool=TORCHSPEC,
            versions="",
            setting="engine vllm",
            architectures=architectures,
            rule=OverVllmRule(inner=rule, translate=listed_for_vllm, shift=1),
            source="torchspec/inference/engine/vllm_engine.py:136-185",
        )
        for architectures, rule in newest_rules()
    ),
)
