"""Opening a target: a folder or a file becomes the strongest reference that its tensors allow."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.agreement import (
    ContradictionError,
    check_config,
    check_digest,
    check_llama,
    check_tensors,
    language_table,
    read_config,
)
from eagle3_contracts.subjects.targets.native import (
    ARCHITECTURE,
    LlamaTarget,
    Route,
    misshapen_layers,
    missing_layers,
)
from eagle3_contracts.subjects.targets.parts import PartialTarget, find_prefix, locate_parts
from eagle3_contracts.subjects.targets.shape import LlamaShape, UnsupportedShapeError, read_shape
from eagle3_contracts.subjects.targets.tensors import TensorFiles, find_files

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

_FORMS = (
    "give a folder with config.json and .safetensors files, a .safetensors file that holds model.norm.weight, "
    "model.embed_tokens.weight or lm_head.weight, or a .gguf file"
)


def open_target(value: str, contract: Contract, dtype: str = "float32", *, route: Route | None = None) -> Target:
    """Open the target's weights, whole or in part; missing tensors lower the rung and leave a note.

    Llama-type models run natively, others through transformers. ``dtype``: what a full target computes in;
    ``route`` picks one of the native forwards. Raises ``SubjectError`` if the path is no target, or contradicts the
    contract: hidden size, layers, vocabulary, architecture, eps, tying, quantisation, sha256.
    """
    path = Path(value)
    if not path.exists():
        raise SubjectError(value, "does not exist", remedy=_FORMS)
    if path.suffix == ".gguf" or (path.is_dir() and not (path / "config.json").is_file() and any(path.glob("*.gguf"))):
        return _open_transformers(path, contract, dtype)
    if path.is_file():
        if path.suffix != ".safetensors":
            raise SubjectError(value, "is no .safetensors file", remedy=_FORMS)
        return _open_partial(value, contract, TensorFiles([path]), ["no config.json: the layers cannot be run"])
    if not (path / "config.json").is_file():
        note = "no config.json in the folder: the layers cannot be run"
        return _open_partial(value, contract, find_files(path), [note])
    return _open_folder(path, contract, dtype, route)


def _open_folder(path: Path, contract: Contract, dtype: str, route: Route | None) -> Target:
    config = read_config(path / "config.json")
    check_config(config, contract, path / "config.json")
    files = find_files(path)
    check_tensors(files, contract, str(path))
    notes = [f"{len(files.missing)} shards are missing, first {files.missing[0]}"] if files.missing else []
    table = language_table(config, contract, path / "config.json")
    if contract.target.architecture == ARCHITECTURE:
        check_llama(contract, path / "config.json")
    shape, obstacle = _native_shape(config, table, contract)
    if shape is None:
        return _open_other(path, contract, dtype, files, [*notes, obstacle])
    prefix = find_prefix(files)
    lost = missing_layers(files, prefix, shape)
    parts = locate_parts(files, tied=shape.tied)
    lost += [part for part in ("embedding", "norm", "head") if part not in parts]
    if lost:
        missing = f"{len(lost)} weights of the full target are missing or quantised, first {lost[0]}"
        return _open_partial(str(path), contract, files, [*notes, missing], cut=True)
    bad = misshapen_layers(files, prefix, shape)
    if bad:
        remedy = "give the weights and the config.json of one model"
        raise SubjectError(str(path), f"weights contradict config.json: {bad[0]}", remedy=remedy)
    target = LlamaTarget(str(path), contract, files, shape, dtype=dtype, route=route)
    return _with_digest(target, contract, files)


def _native_shape(
    config: Mapping[str, Any], table: Mapping[str, Any], contract: Contract
) -> tuple[LlamaShape | None, str]:
    """Give the shape if the native routes compute this model, else the reason why not."""
    if contract.target.architecture != ARCHITECTURE:
        return None, f"{contract.target.architecture} is not run natively"
    if config.get("quantization_config"):
        return None, "quantised weights are not run natively"
    try:
        return read_shape(table), ""
    except UnsupportedShapeError as error:
        return None, str(error)


def _open_other(path: Path, contract: Contract, dtype: str, files: TensorFiles, notes: list[str]) -> Target:
    """Run another architecture through transformers; without it, use the parts that can be read."""
    if not (_is_installed("transformers") and _is_installed("torch")):
        needs = "running it needs transformers: pip install 'eagle3-contracts[transformers]'"
        return _open_partial(str(path), contract, files, [*notes, needs])
    try:
        return _open_transformers(path, contract, dtype)
    except ContradictionError:
        raise
    except SubjectError as error:
        return _open_partial(str(path), contract, files, [*notes, error.reason])


def _is_installed(name: str) -> bool:
    """Tell whether a package can be imported; a folder of its name on the path, without code, is none."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


def _open_transformers(path: Path, contract: Contract, dtype: str) -> Target:
    """Hand over to the transformers route, a module of its own since it imports torch and transformers."""
    route = import_module("eagle3_contracts.subjects.targets.hf")
    opened: Target = route.open_transformers_target(path, contract, dtype)
    return opened


def _open_partial(
    source: str, contract: Contract, files: TensorFiles, notes: list[str], *, cut: bool = False
) -> PartialTarget:
    """Use the parts that can be read. ``cut``: layers are missing, so that the digest of all weights says nothing."""
    check_tensors(files, contract, source)
    target = PartialTarget(source, contract, files, notes)
    if target.holds == {"head"}:
        remedy = "put model.norm.weight into the same file"
        raise SubjectError(source, "holds a head without the final norm, which decides nothing", remedy=remedy)
    if target.rung is Rung.NONE:
        names = ", ".join(sorted(files.tensors)[:3]) or "nothing"
        reason = f"holds no embedding, final norm or head; it holds {len(files.tensors)} tensors: {names}"
        raise SubjectError(source, reason, remedy=_FORMS)
    absent = sorted({"embedding", "norm", "head"} - target.holds)
    if absent:
        target.notes = (*target.notes, f"not at hand: {', '.join(absent)}")
    folder = Path(source).is_dir()
    if folder and not absent and not cut:
        return _with_digest(target, contract, files)
    if contract.target.weights_sha256 is not None:
        what = "a part of the weights" if folder else "one file without its config.json"
        target.notes = (*target.notes, f"target.weights_sha256 was not compared: this is {what}")
    return target


def _with_digest(target: PartialTarget, contract: Contract, files: TensorFiles) -> PartialTarget:
    note = check_digest(files, contract, target.source)
    if note:
        target.notes = (*target.notes, note)
    return target
