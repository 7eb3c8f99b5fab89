"""Does a target agree with the contract? Every contradiction at once, each with its file, found and expected."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.parts import locate_parts
from eagle3_contracts.subjects.targets.tensors import TensorFiles, weights_digest


class ContradictionError(SubjectError):
    """A target that is not the contract's: never a reason to go on with a part of it."""


CONFIG_CAP = 4 << 20
DIGEST_CAP = 16 << 30
"""Bytes of weights up to which ``weights_sha256`` is compared; reading a terabyte first would take an hour."""

_REMEDY = "give the target that the contract names, or check against the contract of this target"
_EPS_KEYS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")


def read_config(path: Path) -> dict[str, Any]:
    """Read a config.json; raise ``SubjectError`` for anything but a JSON table of a sensible size."""
    remedy = "give the config.json that belongs to the weights"
    try:
        if path.stat().st_size > CONFIG_CAP:
            raise SubjectError(str(path), f"is larger than {CONFIG_CAP} bytes, so no config.json", remedy=remedy)
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SubjectError(str(path), f"cannot be read: {error.strerror}", remedy=remedy) from None
    except (ValueError, RecursionError) as error:
        raise SubjectError(str(path), f"is no JSON: {error}", remedy=remedy) from None
    if not isinstance(config, dict):
        raise SubjectError(str(path), "is no JSON table", remedy=remedy)
    return config


def language_table(config: Mapping[str, Any], contract: Contract, path: Path) -> Mapping[str, Any]:
    """Give the table of config.json that ``target.config_path`` names."""
    table: Any = config
    for key in filter(None, contract.target.config_path.split(".")):
        table = table.get(key) if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping):
        reason = f"has no table {contract.target.config_path!r}, where the contract expects the language model"
        raise SubjectError(str(path), reason, remedy=_REMEDY)
    return table


def check_config(config: Mapping[str, Any], contract: Contract, path: Path) -> None:
    """Raise ``ContradictionError`` with every key of config.json that contradicts the contract."""
    table = language_table(config, contract, path)
    defects = list(_contradictions(config, table, contract))
    if defects:
        reason = f"not the target of {contract.reference}: {'; '.join(defects)}"
        raise ContradictionError(str(path), reason, remedy=_REMEDY)


def check_llama(contract: Contract, path: Path) -> None:
    """Raise ``ContradictionError`` if the contract says of a LlamaForCausalLM what that class never computes."""
    target = contract.target
    said = {
        "norm.kind": (target.norm.kind, "rms"),
        "norm.plus_one": (target.norm.plus_one, False),
        "embed_scale": (target.embed_scale, 1.0),
        "logit_scale": (target.logit_scale, 1.0),
        "logit_softcap": (target.logit_softcap, None),
    }
    defects = [
        f"target.{name} is {value!r}, computed is {own!r}" for name, (value, own) in said.items() if value != own
    ]
    if defects:
        reason = f"LlamaForCausalLM computes otherwise than {contract.reference} says: {'; '.join(defects)}"
        raise ContradictionError(str(path), reason, remedy="mend those fields of the contract, or give its target")


def check_tensors(files: TensorFiles, contract: Contract, source: str) -> None:
    """Raise ``ContradictionError`` if embedding, norm or head have another size than the contract's."""
    target = contract.target
    sizes = {"norm": (target.hidden_size,), "embedding": (target.vocab_size, target.hidden_size)}
    sizes["head"] = sizes["embedding"]
    defects = [
        f"{name} in {files.tensors[name].path.name} is {list(files.tensors[name].shape)}, expected {list(sizes[part])}"
        for part, name in locate_parts(files, tied=target.tied_embedding).items()
        if files.tensors[name].shape != sizes[part]
    ]
    if defects:
        reason = f"not the target of {contract.reference}: {'; '.join(defects)}"
        raise ContradictionError(source, reason, remedy=_REMEDY)


def check_digest(files: TensorFiles, contract: Contract, source: str) -> str | None:
    """Compare ``weights_sha256``; raise ``ContradictionError`` if it differs, give a note if it was not compared."""
    expected = contract.target.weights_sha256
    if expected is None:
        return None
    size = sum(path.stat().st_size for path in files.files)
    if files.missing or size > DIGEST_CAP:
        why = f"{len(files.missing)} shards are missing" if files.missing else f"the weights take {size} bytes"
        return f"target.weights_sha256 was not compared: {why}"
    found = weights_digest(files.files)
    if found != expected:
        reason = f"the weights have sha256 {found}, {contract.reference} is about {expected}"
        raise ContradictionError(source, reason, remedy=_REMEDY)
    return None


def _contradictions(config: Mapping[str, Any], table: Mapping[str, Any], contract: Contract) -> Iterator[str]:
    target = contract.target
    for key in ("hidden_size", "num_hidden_layers", "vocab_size"):
        found, expected = table.get(key, config.get(key)), getattr(target, key)
        if found is not None and found != expected:
            yield f"{key} is {found!r}, expected {expected}"
    named = config.get("architectures") or table.get("architectures")
    if named and target.architecture not in named:
        yield f"architectures is {named!r}, expected {target.architecture!r}"
    eps = next((table[key] for key in _EPS_KEYS if isinstance(table.get(key), int | float)), None)
    if eps is not None and not math.isclose(eps, target.norm.eps, rel_tol=1e-3):
        yield f"the norm's eps is {eps:g}, expected {target.norm.eps:g}"
    tied = table.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    if tied is not None and bool(tied) != target.tied_embedding:
        yield f"tie_word_embeddings is {tied!r}, expected {target.tied_embedding} (target.tied_embedding)"
    quantized = config.get("quantization_config") or table.get("quantization_config")
    if quantized and target.quantization == "none":
        method = quantized.get("quant_method", "unnamed") if isinstance(quantized, Mapping) else quantized
        yield f"the weights are quantised ({method}), expected none (target.quantization)"
