"""Reading a target's weights from safetensors: an own header reader with a cap, and rows widened to float32.

A header is untrusted: its length is capped, a name may stand once, and every tensor must lie inside the file.
Tensor names never become paths, and a shard named by an index must lie in the index's own folder.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.numerics import bfloat16_to_float32
from eagle3_contracts.subjects import SubjectError

HEADER_CAP = 100 << 20
"""Bytes; safetensors' own cap."""
INDEX = "model.safetensors.index.json"
_KINDS: dict[str, tuple[str, np.dtype[Any]]] = {
    "F64": ("float64", np.dtype("<f8")),
    "F32": ("float32", np.dtype("<f4")),
    "F16": ("float16", np.dtype("<f2")),
    "BF16": ("bfloat16", np.dtype("<u2")),
}
_FETCH = "give the folder again, complete: config.json and every .safetensors file"


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies: its file, dtype as the header spells it, shape, and first byte."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def floating(self) -> bool:
        """Tell whether the dtype is one that can be widened to float32 (an integer or float8 tensor needs scales)."""
        return self.dtype in _KINDS


class TensorFiles:
    """The tensors of one or several safetensors files, by name; values are read when asked for.

    ``missing``: shards that the index names and the folder lacks.
    """

    def __init__(self, files: Sequence[Path], missing: Sequence[str] = ()) -> None:
        self.files = tuple(files)
        self.missing = tuple(missing)
        self.tensors: dict[str, StoredTensor] = {}
        for path in files:
            for name, tensor in read_header(path).items():
                if name in self.tensors:
                    reason = f"{name} stands in {self.tensors[name].path.name} too"
                    raise SubjectError(str(path), reason, remedy="keep one copy of the weights in the folder")
                self.tensors[name] = tensor

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    @cached_property
    def parameters(self) -> int:
        """How many numbers all tensors hold together."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())

    def read(self, name: str, rows: npt.NDArray[np.int64] | slice = slice(None)) -> npt.NDArray[np.float32]:
        """Read a floating tensor, or some of its rows, widened to float32 exactly (float64 is rounded)."""
        tensor = self.tensors[name]
        if not tensor.floating:
            reason = f"{name} is {tensor.dtype}, which cannot be read without its scales"
            raise SubjectError(str(tensor.path), reason, remedy="give the unquantised target")
        _, kind = _KINDS[tensor.dtype]
        if math.prod(tensor.shape) == 0:
            return np.zeros(tensor.shape, np.float32)[rows]
        stored = np.memmap(tensor.path, kind, mode="r", offset=tensor.start, shape=tensor.shape)
        chosen = np.ascontiguousarray(stored[rows])
        return bfloat16_to_float32(chosen) if tensor.dtype == "BF16" else chosen.astype(np.float32)


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Read the header of one safetensors file; raise ``SubjectError`` for anything that is not one, or is cut off."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > min(HEADER_CAP, size - 8):
                raise SubjectError(str(path), "no safetensors file, or one that is cut off", remedy=_FETCH)
            header = json.loads(stream.read(length), object_pairs_hook=_refuse_duplicates)
    except OSError as error:
        raise SubjectError(str(path), f"cannot be read: {error.strerror}", remedy=_FETCH) from None
    except (ValueError, RecursionError) as error:
        raise SubjectError(str(path), f"its safetensors header is broken: {error}", remedy=_FETCH) from None
    if not isinstance(header, dict):
        raise SubjectError(str(path), "its safetensors header is no table", remedy=_FETCH)
    header.pop("__metadata__", None)
    return {name: _locate(path, name, entry, 8 + length, size) for name, entry in header.items()}


def find_files(folder: Path) -> TensorFiles:
    """Find a folder's weights: those its index names, else ``model.safetensors``, else every .safetensors file.

    Shards that the index names and that are not there are left out and listed in ``missing``. Raises
    ``SubjectError`` if there are none at all, or if the index points out of the folder.
    """
    index = folder / INDEX
    if index.is_file():
        named = _read_weight_map(index).values()
        bad = [name for name in named if not isinstance(name, str) or Path(name).name != name]
        if bad:
            raise SubjectError(str(index), f"names a shard outside its folder: {bad[0]!r}", remedy=_FETCH)
        names = sorted(set(named))
        present = [folder / name for name in names if (folder / name).is_file()]
        lost = [name for name in names if not (folder / name).is_file()]
        if present:
            return TensorFiles(present, lost)
    single = folder / "model.safetensors"
    files = [single] if single.is_file() else sorted(folder.glob("*.safetensors"))
    if not files:
        other = sorted(entry.name for entry in folder.glob("*.bin"))
        reason = "holds no .safetensors file" + (f", only {other[0]}" if other else "")
        remedy = "convert it: model.save_pretrained(FOLDER) in transformers writes safetensors" if other else _FETCH
        raise SubjectError(str(folder), reason, remedy=remedy)
    return TensorFiles(files)


def weights_digest(files: Sequence[Path]) -> str:
    """Give the digest that ``target.weights_sha256`` states.

    One file: its sha256. Several: the sha256 of the lines that ``sha256sum`` prints for them, sorted by name.
    """
    digests = {path.name: _file_digest(path) for path in sorted(files)}
    if len(digests) == 1:
        return next(iter(digests.values()))
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_weight_map(index: Path) -> dict[str, Any]:
    try:
        weight_map = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        if isinstance(weight_map, dict):
            return weight_map
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise SubjectError(str(index), "is no index of shards: it has no table weight_map", remedy=_FETCH)


def _locate(path: Path, name: str, entry: Any, data: int, size: int) -> StoredTensor:
    try:
        dtype, shape = entry["dtype"], tuple(entry["shape"])
        start, stop = entry["data_offsets"]
        sound = all(type(number) is int and number >= 0 for number in (*shape, start, stop)) and start <= stop
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise SubjectError(str(path), f"the header's entry of {name!r} is broken", remedy=_FETCH)
    if dtype in _KINDS and stop - start != math.prod(shape) * _KINDS[dtype][1].itemsize:
        raise SubjectError(str(path), f"{name!r} has {stop - start} bytes, not what its shape says", remedy=_FETCH)
    if data + stop > size:
        raise SubjectError(str(path), f"is cut off: {name!r} ends at {data + stop} of {size} bytes", remedy=_FETCH)
    return StoredTensor(path, str(dtype), shape, data + start)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice")
    return table
