"""Which trainer's form a checkpoint has, by the structure of its config and the names of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

Form = Literal["speculators", "specforge", "eagle", "modelopt"]
_MODELOPT_KEYS = frozenset({"use_aux_hidden_state", "use_last_layernorm", "use_mtp_layernorm", "next_layer_regular"})


def recognise(config: Mapping[str, Any], names: Iterable[str]) -> Form | None:
    """Give the form, or None. In a flat config tensor names decide before a key, which tools take over from each other.

    speculators: nested ``transformer_layer_config``. SpecForge, in the form that SGLang reads: ``midlayer.`` names and
    a class ending in Eagle3, also beside keys of ModelOpt: SpecForge 0.2.0's configs of Kimi-K2.5 and Qwen3-235B
    (configs/*-eagle3.json) state ``use_aux_hidden_state``. EAGLE: ``midlayer.`` names without such a class. ModelOpt:
    an ``eagle_config`` with the keys of its own architecture, or ``layers.0.`` names.
    """
    listed = list(names)
    if "speculators_model_type" in config or "transformer_layer_config" in config:
        return "speculators"
    if not config or not listed:
        return None
    if any("midlayer." in name for name in listed):
        named = config.get("architectures")
        classes = [str(name) for name in named] if isinstance(named, list) else []
        return "specforge" if any(name.endswith("Eagle3") for name in classes) else "eagle"
    nested = config.get("eagle_config")
    if isinstance(nested, Mapping) and _MODELOPT_KEYS & set(nested):
        return "modelopt"
    return "modelopt" if any(name.startswith(("layers.0.", "eagle_module.")) for name in listed) else None
