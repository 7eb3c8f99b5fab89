"""A drafter's config.json as a consumer meets it: flat as it lies, or taken out of speculators' nested form.

speculators keeps the decoder layer's config in ``transformer_layer_config`` and the drafter's own keys above it; vLLM
copies some of those into the layer's config and drops the rest (transformers_utils/configs/speculators/algos.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.specifiers import SpecifierSet

from eagle3_contracts.consumers.consumer import Path

Config = Mapping[str, Any]
_COPIED = ("draft_vocab_size", "norm_before_fc", "norm_before_residual")
_COPIED_IF_THERE = ("target_hidden_size", "eagle_aux_hidden_state_layer_ids")
_COPIED_LATER = ("fc_norm", "norm_output")
_COPIED_SINCE, _QWEN3_SINCE = SpecifierSet(">=0.25"), SpecifierSet(">=0.24")
_CLASSES = {"qwen3": "Eagle3Qwen3ForCausalLM", "llama": "Eagle3LlamaForCausalLM"}


def is_speculators(config: Config) -> bool:
    """Tell whether a config is in speculators' form."""
    return "speculators_model_type" in config or "transformer_layer_config" in config


def layer_table(config: Config) -> Config:
    """Give the table with the decoder layer's own keys: width, heads, rope, positions."""
    nested = config.get("transformer_layer_config")
    return nested if isinstance(nested, Mapping) else config


def look_up(config: Config, path: Path) -> tuple[bool, Any]:
    """Give whether a key is there, and its value."""
    value: Any = config
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = value[part]
    return True, value


def flatten_for_vllm(config: Config, version: str) -> tuple[Config, str]:
    """Give the config that a version of vLLM makes of speculators' form, and why it stops there, if it does."""
    if not isinstance(config.get("transformer_layer_config"), Mapping):
        return {}, "config.json has no transformer_layer_config"
    flat: dict[str, Any] = dict(layer_table(config))
    copied = (*_COPIED, *_COPIED_LATER) if _COPIED_SINCE.contains(version, prereleases=True) else _COPIED
    flat |= {key: config[key] for key in copied if key in config}
    flat |= {key: config[key] for key in _COPIED_IF_THERE if config.get(key)}
    flat.setdefault("norm_before_residual", True)
    kind = flat.get("model_type", "llama") if _QWEN3_SINCE.contains(version, prereleases=True) else "llama"
    if kind not in _CLASSES:
        return flat, f"it has no drafter class for a {kind} layer"
    flat["architectures"] = [_CLASSES[kind]]
    return flat, ""


def serving_config(consumer_engine: str, version: str, config: Config) -> tuple[Config, str]:
    """Give the config as an engine's drafter class gets it, and why the engine does not get that far."""
    if is_speculators(config):
        if consumer_engine == "vllm":
            return flatten_for_vllm(config, version)
        return config, "it does not read speculators' nested config.json: no model_type, no class of that name"
    if "model_type" not in config:
        return config, "config.json has no model_type, which transformers' AutoConfig needs"
    return config, ""


def named_class(consumer_engine: str, config: Config) -> str:
    """Give the class that an engine looks for.

    vLLM puts Eagle3 before names that do not say it (transformers_utils/configs/eagle.py); TensorRT-LLM tells a
    drafter by its draft_vocab_size, and puts EAGLE3 in front (_torch/models/modeling_auto.py, 01bffee).
    """
    names = config.get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else ""
    if consumer_engine == "vllm" and name and not (name.startswith("Eagle3") or name.endswith("Eagle3")):
        return f"Eagle3{name}"
    if consumer_engine == "tensorrt-llm" and "draft_vocab_size" in config:
        return f"EAGLE3{name.replace('Eagle3', '')}"
    return name


def read_flag(places: tuple[Path, ...], config: Config, *, any_of: bool) -> tuple[bool, Path | None]:
    """Read a flag: the first place that is there decides, or any that is true; give the place as well."""
    for path in places:
        present, value = look_up(config, path)
        if present and (value or not any_of):
            return bool(value), path
    return False, None
