"""What a target's config.json says of it, and what its model family says where the config is silent."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from eagle3_contracts.contract.formats import Dtype
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.agreement import read_config
from eagle3_contracts.writing.facts import Facts

NESTED = ("text_config", "language_config", "llm_config", "thinker_config.text_config")
"""Where models keep the language model's table, if not at the top."""

PLUS_ONE = re.compile(r"(Gemma2?|Gemma3|T5Gemma2?|VaultGemma|RecurrentGemma|Qwen3Next|Qwen3_5(Moe)?)For")
"""Classes whose norms multiply by 1 + w (transformers 5.19.0, modeling files); Gemma3n and Gemma 4 do not."""

SCALED = re.compile(r"(Gemma[23]?|Gemma3n|T5Gemma2?|VaultGemma|RecurrentGemma)For")
"""Classes that multiply the embedding by sqrt(hidden_size)."""

TIED = re.compile(r"(Gemma|Cohere|T5Gemma|VaultGemma|RecurrentGemma)")
"""Classes whose configs tie the head unless told otherwise."""

_SIZES = ("hidden_size", "num_hidden_layers", "vocab_size")
_RMS = ("rms_norm_eps", "norm_eps")
_LAYER = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
_SNAPSHOT = re.compile(r"models--(?P<owner>[^/]+?)--(?P<name>[^/]+)/snapshots/(?P<revision>[0-9a-f]{7,40})")
_REMEDY = "give the config.json of the target, as it was published with its weights"


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """A target's config.json. ``table``: the part that holds the language model, at ``table_path``."""

    path: Path
    whole: Mapping[str, Any]
    table: Mapping[str, Any]
    table_path: str

    def get(self, *keys: str) -> Any:
        """Give the first of the keys that has a value, in the language model's table before the whole config."""
        for key in keys:
            for table in (self.table, self.whole):
                if table.get(key) is not None:
                    return table[key]
        return None

    def count(self, key: str) -> int:
        """Give a size; ``SubjectError`` if it is missing or no whole number above 0."""
        value = self.get(key)
        if type(value) is not int or value < 1:
            said = "says nothing of" if value is None else f"gives {str(value)[:40]!r} as"
            raise SubjectError(
                str(self.path), f"{said} {key}, a number that a contract cannot do without", remedy=_REMEDY
            )
        return value

    def number(self, *keys: str) -> float | None:
        """Give the first of the keys that is a number above 0."""
        value = self.get(*keys)
        sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        return float(value) if sound else None


def read_target_config(path: Path) -> TargetConfig:
    """Read config.json, or that of a folder; find the table of the language model in it."""
    path = path / "config.json" if path.is_dir() else path
    whole = read_config(path)
    if "num_hidden_layers" in whole:
        return TargetConfig(path, whole, whole, "")
    for place in NESTED:
        table: Any = whole
        for key in place.split("."):
            table = table.get(key) if isinstance(table, Mapping) else None
        if isinstance(table, Mapping) and "num_hidden_layers" in table:
            return TargetConfig(path, whole, table, place)
    reason = f"has num_hidden_layers neither at its top nor in {', '.join(NESTED)}"
    raise SubjectError(str(path), reason, remedy=_REMEDY)


def note_target(config: TargetConfig, facts: Facts) -> None:
    """Note every field of ``[target]``."""
    _note_identity(config, facts)
    for key in _SIZES:
        facts.find(f"target.{key}", config.count(key), _at(config, key))
    _note_dtype(config, facts)
    _note_quantization(config, facts)
    _note_norm(config, facts)
    _note_scales(config, facts)
    _note_tying(config, facts)


def _note_identity(config: TargetConfig, facts: Facts) -> None:
    named = config.whole.get("architectures") or config.table.get("architectures")
    if not (isinstance(named, list) and named and isinstance(named[0], str) and named[0]):
        reason = "names no class (architectures), which every tool's reading of layer ids depends on"
        raise SubjectError(str(config.path), reason, remedy=_REMEDY)
    facts.find("target.architecture", named[0], _at(config, "architectures"))
    if config.table_path:
        facts.find("target.config_path", config.table_path, f"{config.path.name}: where num_hidden_layers stands")
    snapshot = _SNAPSHOT.search(config.path.absolute().as_posix())
    stated = config.whole.get("_name_or_path")
    if snapshot is not None:
        facts.find("target.model", f"{snapshot['owner']}/{snapshot['name']}", "the hub's cache folder")
        facts.find("target.revision", snapshot["revision"], "the hub's cache folder")
    elif isinstance(stated, str) and re.fullmatch(r"[\w.-]+/[\w.-]+", stated):
        facts.find("target.model", stated, _at(config, "_name_or_path"))
    else:
        name = config.path.absolute().parent.name or named[0]
        facts.assume("target.model", name, "config.json does not say its model's name; this is its folder's")


def _note_dtype(config: TargetConfig, facts: Facts) -> None:
    for key in ("dtype", "torch_dtype"):
        value = config.get(key)
        name = str(value).removeprefix("torch.")
        if name in get_args(Dtype):
            facts.find("target.dtype", name, _at(config, key))
            return
    facts.assume("target.dtype", "bfloat16", "config.json states no dtype; what models of today compute in")


def _note_quantization(config: TargetConfig, facts: Facts) -> None:
    stated = config.get("quantization_config", "compression_config")
    if stated is None:
        return
    table = stated if isinstance(stated, Mapping) else {}
    words = [str(table.get("quant_method") or table.get("quant_algo") or "unnamed")]
    groups = table.get("config_groups")
    weights = [
        group["weights"]
        for group in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping)
    ]
    words += [f"{one.get('type', '')}{one.get('num_bits', '')}" for one in weights[:1]]
    bits = table.get("bits")
    words += [f"{bits} bits"] if type(bits) is int else []
    facts.find("target.quantization", " ".join(filter(None, words)), _at(config, "quantization_config"))


def _note_norm(config: TargetConfig, facts: Facts) -> None:
    architecture = facts.value("target.architecture")
    key = next((key for key in (*_RMS, *_LAYER) if config.number(key) is not None), None)
    norm: dict[str, Any] = {"kind": "layer" if key in _LAYER else "rms"}
    norm["plus_one"] = bool(PLUS_ONE.match(architecture))
    if key is None:
        norm["eps"] = 1e-6
        facts.assume("target.norm", norm, "config.json states no eps")
        return
    norm["eps"] = config.number(key)
    origin = _at(config, key)
    if norm["plus_one"]:
        origin += f"; {architecture} applies 1 + w (transformers 5.19.0)"
    facts.find("target.norm", norm, origin)


def _note_scales(config: TargetConfig, facts: Facts) -> None:
    architecture = facts.value("target.architecture")
    if SCALED.match(architecture):
        scale = math.sqrt(config.count("hidden_size"))
        facts.find("target.embed_scale", scale, f"sqrt(hidden_size): {architecture} (transformers 5.19.0)")
    else:
        for key in ("scale_emb", "embedding_multiplier"):
            if (factor := config.number(key)) is not None:
                facts.find("target.embed_scale", factor, _at(config, key))
    if (factor := config.number("logit_scale")) is not None:
        facts.find("target.logit_scale", factor, _at(config, "logit_scale"))
    if (divisor := config.number("logits_scaling")) is not None:
        facts.find("target.logit_scale", 1 / divisor, f"1 / {_at(config, 'logits_scaling')}")
    if (cap := config.number("final_logit_softcapping")) is not None:
        facts.find("target.logit_softcap", cap, _at(config, "final_logit_softcapping"))


def _note_tying(config: TargetConfig, facts: Facts) -> None:
    architecture = facts.value("target.architecture")
    tied = config.get("tie_word_embeddings")
    if isinstance(tied, bool):
        facts.find("target.tied_embedding", tied, _at(config, "tie_word_embeddings"))
    elif TIED.match(architecture):
        facts.find(
            "target.tied_embedding", value=True, origin=f"the default of {architecture}'s config (transformers 5.19.0)"
        )
    else:
        why = "config.json does not state tie_word_embeddings, and most models of this kind keep a head of their own"
        facts.assume("target.tied_embedding", value=False, why=why)


def _at(config: TargetConfig, key: str) -> str:
    inner = key in config.table and bool(config.table_path)
    return f"{config.path.name}: {config.table_path + '.' if inner else ''}{key}"
