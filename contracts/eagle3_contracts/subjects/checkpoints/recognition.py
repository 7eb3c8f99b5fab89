"""Which trainer's form a checkpoint has, by the structure of its config and the names of its tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

Form = Literal["speculators", "specforge", "eagle", "modelopt"]
_MODELOPT_KEYS = frozenset({"use_aux_hidden_state", "use_last_layernorm", "use_mtp_layernorm", "next_layer_regular"})


def recognise(config: Mapping[str, Any], names: Iterable[str]) -> Form | None:
    """Give the form, or None.

    speculators: nested ``transformer_layer_config``. ModelOpt: an ``eagle_config`` with the keys of its own
    architecture, or ``layers.0.`` names in a flat config. SpecForge, in the form that SGLang reads: ``midlayer.`` names
    and a class ending in Eagle3. EAGLE: ``midlayer.`` names without one.
    """
    listed = list(names)
    if "speculators_model_type" in config or "transformer_layer_config" in config:
        return "speculators"
    if not config or not listed:
        return None
    nested = config.get("eagle_config")
    if isinstance(nested, Mapping) and _MODELOPT_KEYS & set(nested):
        return "modelopt"
    if any("midlayer." in name for name in listed):
        named = config.get("architectures")
        classes = [str(name) for name in named] if isinstance(named, list) else []
        return "specforge" if any(name.endswith("Eagle3") for name in classes) else "eagle"
    return "modelopt" if any(name.startswith(("layers.0.", "eagle_module.")) for name in listed) else None
