"""The consumers: SGLang and vLLM by version as read in their wheels, TensorRT-LLM as read in its repository.

SGLang 0.5.9 to 0.5.23: srt/models/llama_eagle3.py, kimi_k25_eagle3.py, and llama.py, whose decoder layer and embedding
they inherit. vLLM 0.22.0 to 0.33.0: model_executor/models/llama_eagle3.py, qwen3_eagle3.py, deepseek_eagle3.py,
registry.py, transformers_utils/configs/speculators/algos.py, v1/spec_decode/llm_base_proposer.py. TensorRT-LLM at
00679c6: _torch/models/modeling_speculative.py.
"""

from __future__ import annotations

from dataclasses import replace

from eagle3_contracts.consumers.consumer import Consumer, Feature, Path

_BIAS: dict[Feature, tuple[Path, ...]] = {"fc_bias": (("bias",),)}
_O_BIAS: dict[Feature, tuple[Path, ...]] = {"o_bias": (("attention_bias",), ("bias",))}
_PLANE_NORMS: tuple[Path, ...] = (("fc_norm",), ("use_aux_norm",))
_OUTPUT: tuple[Path, ...] = (("norm_output",),)
_BEFORE_FC: tuple[Path, ...] = (("eagle_config", "norm_before_fc"), ("norm_before_fc",))
_LEGACY_NORMS = (("aux_norm_low", "fc_norm.0"), ("aux_norm_mid", "fc_norm.1"), ("aux_norm_high", "fc_norm.2"))
_TO_LAYERS = (("midlayer", "layers.0"),)

_SGLANG_FIRST = Consumer(
    engine="sglang",
    module="llama",
    versions=">=0.5.9,<0.5.10",
    architectures=("LlamaForCausalLMEagle3",),
    source="srt/models/llama_eagle3.py: its one layer is called midlayer, and no name is translated",
    renames=(("layers.", "nowhere."), ("midlayer.", "layers.0.")),
    flags={**_BIAS, **_O_BIAS},
    any_of=frozenset({"o_bias"}),
    one_layer=True,
    tied=True,
    fc_needs_other_width=True,
    wants_draft_vocab=True,
    rope="v4",
    rope_style_key="rope_is_neox_style",
)
_SGLANG_SECOND = replace(_SGLANG_FIRST, versions=">=0.5.10,<0.5.12", rope="v5")
_SGLANG_THIRD = replace(
    _SGLANG_SECOND,
    versions=">=0.5.12,<0.5.17",
    source="srt/models/llama_eagle3.py: names translated, layers as many as the config says",
    renames=(*_TO_LAYERS, *_LEGACY_NORMS),
    flags={**_BIAS, **_O_BIAS, "plane_norms": _PLANE_NORMS, "recurrent_post_norm": _OUTPUT},
    any_of=frozenset({"o_bias", "plane_norms"}),
    one_layer=False,
    later_norm="hidden_norm",
)
_SGLANG_FOURTH = replace(
    _SGLANG_THIRD, versions=">=0.5.17,<0.5.24", flags={**_SGLANG_THIRD.flags, "joint_norm": _BEFORE_FC}
)
_SGLANG_KIMI = Consumer(
    engine="sglang",
    module="kimi",
    versions=">=0.5.12,<0.5.24",
    architectures=("Eagle3DeepseekV2ForCausalLM",),
    source="srt/models/kimi_k25_eagle3.py",
    attention="mla",
    renames=(("midlayer.", "layers.0."),),
    flags={**_BIAS, "plane_norms": _PLANE_NORMS, "recurrent_post_norm": _OUTPUT},
    any_of=frozenset({"plane_norms"}),
    one_layer=True,
    tied=True,
    fc_needs_other_width=True,
    rope_layout="interleaved",
)
_VLLM_LLAMA = Consumer(
    engine="vllm",
    module="llama",
    versions=">=0.22,<0.24",
    architectures=(
        *("LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3MiniMaxM2ForCausalLM"),
        *("Eagle3Qwen2_5vlForCausalLM", "Eagle3Qwen3vlForCausalLM"),
    ),
    source="model_executor/models/llama_eagle3.py",
    speculators=True,
    renames=(("midlayer.", "layers.0."),),
    flags={
        "residual_post_norm": (("norm_before_residual",),),
        "joint_norm": _BEFORE_FC,
        "plane_norms": (("fc_norm",),),
        "recurrent_post_norm": _OUTPUT,
        "qkv_bias": (("attention_bias",),),
        **_O_BIAS,
    },
    any_of=frozenset({"o_bias"}),
    defaults=frozenset({"residual_post_norm"}),
    strays="refused",
    silent=("input_norm.", "mask_hidden", "t2d"),
    embedding="own",
    missing_head="target",
)
_VLLM_QWEN3 = replace(
    _VLLM_LLAMA,
    module="qwen3",
    versions=">=0.24,<0.34",
    architectures=("Eagle3Qwen3ForCausalLM",),
    source="model_executor/models/qwen3_eagle3.py",
    flags={**_VLLM_LLAMA.flags, "o_bias": ()},
    qk_norm=True,
)
_VLLM_DEEPSEEK = replace(
    _VLLM_LLAMA,
    module="deepseek",
    versions=">=0.22,<0.34",
    architectures=("Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM"),
    source="model_executor/models/deepseek_eagle3.py",
    attention="mla",
    speculators=False,
    flags={
        "residual_post_norm": (("norm_before_residual",),),
        "plane_norms": (("fc_norm",),),
        "recurrent_post_norm": _OUTPUT,
    },
    any_of=frozenset(),
    defaults=frozenset(),
    silent=("t2d",),
    rope_layout="interleaved",
)
_TENSORRT_LLM = Consumer(
    engine="tensorrt-llm",
    module="llama",
    versions=">=1.0,<1.3",
    architectures=("EAGLE3LlamaForCausalLM",),
    source="_torch/models/modeling_speculative.py (repository, 00679c6)",
    renames=(("midlayer.", "layers.0."),),
    flags={
        **_BIAS,
        "joint_norm": (("eagle_config", "norm_before_fc"),),
        "plane_norms": (("fc_norm",),),
        "recurrent_post_norm": (("norm_output",), ("eagle_config", "return_hidden_post_norm")),
        "qkv_bias": (("attention_bias",),),
        "o_bias": (("attention_bias",),),
    },
    any_of=frozenset({"recurrent_post_norm"}),
    later_norm="hidden_norm",
    missing_head="target",
    fc_needs_other_width=True,
)

CONSUMERS: tuple[Consumer, ...] = (
    _SGLANG_FIRST,
    _SGLANG_SECOND,
    _SGLANG_THIRD,
    _SGLANG_FOURTH,
    _SGLANG_KIMI,
    _VLLM_LLAMA,
    replace(_VLLM_LLAMA, versions=">=0.24,<0.34"),
    _VLLM_QWEN3,
    _VLLM_DEEPSEEK,
    _TENSORRT_LLM,
)
"""By engine, class and version."""

ENGINES = tuple(dict.fromkeys(consumer.engine for consumer in CONSUMERS))
"""The engines whose reading of a checkpoint is in the table."""


def runners_of(engine: str) -> tuple[str, ...]:
    """Give an engine's model runners, which differ in where they look for ids; one without a name for most."""
    return ("v1", "v2") if engine == "vllm" else ("",)
