"""Keys of a drafter's config.json that hold another kind of value than every engine takes them for.

Engines compute with them as they lie: a string where a number belongs stops transformers' config classes or the
first layer that is built, and the string "false" is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WHOLE = "whole number"
MOST_LAYERS, MOST = 1_000, 1 << 31
"""Above these a number is no size of a drafter."""


def _is_whole(key: str, value: Any) -> bool:
    return type(value) is int and 0 <= value <= (MOST_LAYERS if key == "num_hidden_layers" else MOST)


def _is_number(_: str, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(_: str, value: Any) -> bool:
    return isinstance(value, bool)


def _is_table(_: str, value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_names(_: str, value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_KINDS: Mapping[str, tuple[Callable[[str, Any], bool], tuple[str, ...]]] = {
    WHOLE: (
        _is_whole,
        (
            *("hidden_size", "target_hidden_size", "intermediate_size", "num_hidden_layers", "max_position_embeddings"),
            *("num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size", "draft_vocab_size"),
            *("num_aux_hidden_states", "num_aux_layers"),
        ),
    ),
    "number": (_is_number, ("rope_theta", "rms_norm_eps", "initializer_range")),
    "true or false": (
        _is_flag,
        (
            *("tie_word_embeddings", "attention_bias", "mlp_bias", "bias", "norm_before_residual", "norm_before_fc"),
            *("norm_output", "fc_norm", "use_aux_norm"),
        ),
    ),
    "table": (
        _is_table,
        (
            *("eagle_config", "dflash_config", "rope_scaling", "rope_parameters", "transformer_layer_config"),
            *("quantization_config", "compression_config"),
        ),
    ),
    "list of names": (_is_names, ("architectures",)),
}
"""By kind: how it is told, and the keys that hold it; an absent key and null are no defect."""


@dataclass(frozen=True, slots=True)
class WrongType:
    """One key: its place, what stands there, and the kind that belongs there."""

    key: str
    value: Any
    wanted: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        article = "not" if self.wanted == "true or false" else "no"
        sort = " of a sensible size" if type(self.value) is int and self.wanted == WHOLE else ""
        return f"{self.key} is {repr(self.value)[:60]}, {article} {self.wanted}{sort}"


def find_wrong_types(config: Mapping[str, Any]) -> Iterator[WrongType]:
    """Give every key of the config, and of the decoder layer's table within it, whose value is of another kind."""
    nested = config.get("transformer_layer_config")
    tables = {"": config, "transformer_layer_config.": nested if isinstance(nested, Mapping) else {}}
    for wanted, (fits, keys) in _KINDS.items():
        for prefix, table in tables.items():
            for key in keys:
                value = table.get(key)
                if value is not None and not fits(key, value):
                    yield WrongType(f"{prefix}{key}", value, wanted)
