"""vLLM's dialects: ids are boundaries, sorted and de-duplicated, and id n is R[n] before the final norm.

Read in the wheels of 0.22.0 to 0.33.0 (model_executor/models/interfaces.py, the models, and both model
runners). Which config key carries the ids differs by runner: see ``config_keys``.
"""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.resolution import Resolution, at_first_forward
from eagle3_contracts.dialects.rule import Ids, LayerRule, reference_boundaries
from eagle3_contracts.dialects.unsupported import UnsupportedRule

VLLM = Tool(
    name="vllm",
    purpose="serve",
    read=("0.22.0", "0.24.0", "0.25.0", "0.25.1", "0.26.0", "0.27.0", "0.30.0", "0.33.0"),
    takes="the draft's config.json: eagle_aux_hidden_state_layer_ids (see config_keys for the runner's fallbacks)",
)
FIRST, AFTER_LAST = "0.22", "0.34"

MIXIN = (
    *("LlamaForCausalLM", "MistralForCausalLM", "Phi3ForCausalLM", "Llama4ForCausalLM"),
    *("Llama4ForConditionalGeneration", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"),
    *("Qwen2_5_VLForConditionalGeneration", "Qwen3VLForConditionalGeneration", "GptOssForCausalLM"),
    *("MiniMaxM2ForCausalLM", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"),
)
MINIMAX_M3 = ("MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration")
DEEPSEEK = ("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration")
WITHOUT = (
    *("Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM"),
    *("Qwen2MoeForCausalLM", "MixtralForCausalLM"),
)


@dataclass(frozen=True, kw_only=True)
class VllmRule(LayerRule):
    """A sorted set of boundaries; where ``first`` is 1, the embedding cannot be captured.

    DeepSeek's loop (deepseek_v2.py) adds the residual without asking whether there is one yet, so id 0
    raises a TypeError; models that use ``_maybe_add_hidden_state`` ask.
    """

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        """See ``Rule.resolve``."""
        if self.first and ids and 0 in ids:
            return at_first_forward((), (), self.unreachable(Tap(0), layers))
        return super().resolve(ids, layers)

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap == Tap(0):
            return "R[0] cannot be captured: the loop adds a residual that does not exist before layer 0 (TypeError)"
        if tap == Tap(layers, "pre_norm"):
            return (
                f"R[{layers}] cannot be captured: the loop takes planes on entry of a layer, and none follows the last"
            )
        if tap.state == "post_norm":
            return f"id {layers} is R[{layers}] before the final norm, so {tap} cannot be captured"
        return super().unreachable(tap, layers)


_RULE = VllmRule(shift=0, default=reference_boundaries, empty_is_absent=True)
_DEEPSEEK = VllmRule(shift=0, default=reference_boundaries, empty_is_absent=True, first=1)
_DEEPSEEK_WITHOUT_FINAL = VllmRule(shift=0, default=reference_boundaries, empty_is_absent=True, first=1, final=None)
_NOT_SUPPORTED = UnsupportedRule("the model class does not implement SupportsEagle3 (RuntimeError at start)")

DIALECTS = (
    Dialect(
        tool=VLLM,
        versions=f">={FIRST},<{AFTER_LAST}",
        architectures=MIXIN,
        rule=_RULE,
        source="model_executor/models/interfaces.py: EagleModelMixin",
    ),
    Dialect(
        tool=VLLM,
        versions=f">=0.24,<{AFTER_LAST}",
        architectures=MINIMAX_M3,
        rule=_RULE,
        source="models/minimax_m3/nvidia/model.py",
    ),
    Dialect(
        tool=VLLM,
        versions=f">=0.24,<{AFTER_LAST}",
        architectures=("Qwen3NextForCausalLM",),
        rule=_RULE,
        source="model_executor/models/qwen3_next.py",
    ),
    Dialect(
        tool=VLLM,
        versions=f">={FIRST},<0.25",
        architectures=DEEPSEEK,
        rule=_DEEPSEEK_WITHOUT_FINAL,
        source="model_executor/models/deepseek_v2.py",
    ),
    Dialect(
        tool=VLLM,
        versions=f">=0.25,<{AFTER_LAST}",
        architectures=DEEPSEEK,
        rule=_DEEPSEEK,
        source="model_executor/models/deepseek_v2.py",
    ),
    Dialect(
        tool=VLLM,
        versions=f">={FIRST},<{AFTER_LAST}",
        architectures=WITHOUT,
        rule=_NOT_SUPPORTED,
        source="model_executor/models/registry.py and the classes it names",
    ),
)
