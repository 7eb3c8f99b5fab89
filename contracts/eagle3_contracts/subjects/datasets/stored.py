"""What lies in a file: tensors as stored bits, the samples they make, and how bits become float32.

numpy only. A tensor keeps the bits it is stored in (memory-mapped where the container allows it); values are
widened to float32 some rows at a time, so that a file of any size needs little memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, Problem, TensorHeader
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import bfloat16_to_float32

BIT_TYPES = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "float8_e4m3fn": "|u1",
    "float8_e5m2": "|u1",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint64": "<u8",
    "uint32": "<u4",
    "uint16": "<u2",
    "uint8": "|u1",
    "bool": "|b1",
}
"""Torch dtype name to the numpy dtype that holds its bits."""

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
FLOATS = ("float64", "float32", "float16", "bfloat16", *FLOAT8)
INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


class UnreadableError(Exception):
    """A file, or part of one, that cannot be read: carries the problem that says why."""

    def __init__(self, kind: str, reason: str, remedy: str, where: Where) -> None:
        self.problem = Problem(kind, reason, remedy, where)
        super().__init__(f"{where}: {reason}")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the dataset. ``name``: relative to the dataset, printable; ``suffix``: ``.ckpt.gz`` in one piece."""

    path: Path
    name: str
    suffix: str
    size: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as stored: the torch dtype's name, and an array of its bits."""

    dtype: str
    bits: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Give the shape."""
        return tuple(int(size) for size in self.bits.shape)

    @property
    def header(self) -> TensorHeader:
        """Give what the file's header says of the tensor."""
        return TensorHeader(self.dtype, self.shape)

    def squeezed(self, ndim: int) -> StoredTensor:
        """Drop a leading axis of length 1 until ``ndim`` axes are left (SpecForge and AngelSlim keep a batch axis)."""
        bits = self.bits
        while bits.ndim > ndim and bits.shape[0] == 1:
            bits = bits[0]
        return StoredTensor(self.dtype, bits)


@dataclass(frozen=True, slots=True)
class OpaqueValue:
    """A value that is neither tensor nor plain: only what it is."""

    kind: str


Value = StoredTensor | tuple[StoredTensor, ...] | OpaqueValue | str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One sample as a file stores it, before a format says what the keys mean.

    ``place``: the file's name, with ``[i]`` behind it for files that hold a list. ``container``: ``torch`` or
    ``safetensors``. ``listed``: the file holds a list of samples. ``metadata``: safetensors only.
    """

    file: FoundFile
    place: str
    container: str
    listed: bool
    values: Mapping[str, Value]
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredPlane:
    """One plane [T, H] of a sample. ``scales`` [T]: factors per token of quantised states, None without."""

    dtype: str
    bits: npt.NDArray[Any]
    scales: npt.NDArray[np.float32] | None = None

    @property
    def rows(self) -> int:
        """Give the number of rows."""
        return int(self.bits.shape[0])

    @property
    def width(self) -> int:
        """Give the width of a row."""
        return int(self.bits.shape[1])

    def read_rows(self, start: int, stop: int) -> npt.NDArray[np.float32] | npt.NDArray[np.float64]:
        """Give rows ``start:stop`` as floats (float64 where that is what is stored)."""
        with np.errstate(invalid="ignore", over="ignore"):
            values = widen_bits(self.bits[start:stop], self.dtype)
            return values if self.scales is None else values * self.scales[start:stop, None]

    def read_float32(self, rows: int) -> Array:
        """Give the first ``rows`` rows as float32."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.ascontiguousarray(self.read_rows(0, rows), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample as its format reads it: planes in disk order, beside them token ids [T] and mask [T], unread yet.

    ``tensors``: header facts by name, T in place of the length. ``declared``: what the file says of itself.
    """

    place: str
    planes: tuple[StoredPlane, ...]
    token_ids: StoredTensor | None
    mask: StoredTensor | None
    tensors: tuple[tuple[str, str], ...] = ()
    declared: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def float8_table(dtype: str) -> npt.NDArray[np.float32]:
    """Give the 256 values of an 8-bit float, by bit pattern (OCP: e4m3fn has no infinity, e5m2 is half a float16)."""
    codes = np.arange(256, dtype=np.uint16)
    if dtype == "float8_e5m2":
        return (codes << np.uint16(8)).view(np.float16).astype(np.float32)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    exponent, mantissa = ((codes >> 3) & 0xF).astype(np.int64), (codes & 0x7).astype(np.float64)
    size = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    size[(codes & 0x7F) == 0x7F] = np.nan
    return (sign * size).astype(np.float32)


def widen_bits(bits: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.float32] | npt.NDArray[np.float64]:
    """Turn stored bits into floats, exactly; float64 and whole numbers beyond float32 stay float64."""
    if dtype == "bfloat16":
        return bfloat16_to_float32(np.ascontiguousarray(bits))
    if dtype in FLOAT8:
        values: npt.NDArray[np.float32] = float8_table(dtype)[bits]
        return values
    if dtype in {"float64", "int64", "uint64", "int32", "uint32"}:
        return bits.astype(np.float64)
    return bits.astype(np.float32)


def read_integers(tensor: StoredTensor, name: str, where: Where) -> npt.NDArray[np.int64]:
    """Read whole numbers as int64; ``UnreadableError`` (corrupt) if they are stored as anything but whole numbers."""
    if tensor.dtype not in INTEGERS:
        raise UnreadableError(
            "corrupt",
            f"{name} is {tensor.dtype}, and token ids are whole numbers",
            f"store {name} as int64",
            where,
        )
    return np.asarray(tensor.bits).astype(np.int64).ravel()
