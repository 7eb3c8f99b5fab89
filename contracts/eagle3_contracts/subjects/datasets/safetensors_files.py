"""Safetensors files, read by an own header reader: nothing in a header is trusted before it is checked.

Format: 8 bytes little-endian header length, a JSON object (name to dtype, shape, data_offsets; ``__metadata__``),
then the data without gaps. Tensor names are labels and never become paths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.stored import BIT_TYPES, Entry, FoundFile, StoredTensor, UnreadableError
from eagle3_contracts.subjects.datasets.walking import printable

HEADER_CAP = 8 << 20
"""Bytes; a sample's header takes a few hundred."""

_MOST_AXES = 8

DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""The format's dtype names; others (F4, F6, F8_E8M0, C64) hold no states and are refused by name."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a tensor's data lies, in bytes from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Header:
    """A checked header: every span lies in the file, and spans neither overlap nor leave gaps."""

    spans: Mapping[str, Span]
    metadata: Mapping[str, str]


def read_header(found: FoundFile) -> Header:
    """Read and check the header; ``UnreadableError`` (truncated, corrupt, unsupported) says what is wrong with it."""
    where = Where(file=found.name)
    with found.path.open("rb") as handle:
        prefix = handle.read(8)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8:
            raise _truncated(f"{found.size} bytes, too short to hold a header", where)
        if length > HEADER_CAP:
            raise _corrupt(f"claims a header of {length} bytes; a sample's takes a few hundred", where)
        text = handle.read(length)
    if len(text) < length:
        raise _truncated(f"ends inside its header, after {found.size} of {8 + length} bytes", where)
    records = _parse(text, where)
    metadata = records.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _corrupt("__metadata__ is no table of strings", where)
    spans = {name: _read_span(name, record, 8 + length, where) for name, record in records.items()}
    _check_cover(spans, 8 + length, found, where)
    return Header(spans, metadata)


def open_safetensors(found: FoundFile) -> Entry:
    """Open one file as a sample; its tensors are memory-mapped and not read."""
    header = read_header(found)
    values = {printable(name[:200]): _map_tensor(found, span) for name, span in header.spans.items()}
    return Entry(found, found.name, "safetensors", listed=False, values=values, metadata=header.metadata)


def _parse(text: bytes, where: Where) -> dict[str, Any]:
    def refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            names = [name for name, _ in pairs]
            double = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {printable(double)!r} stands twice")
        return record

    def refuse_constant(text: str) -> Any:
        raise ValueError(f"the value {text} is no JSON")

    try:
        records = json.loads(text.decode("utf-8"), object_pairs_hook=refuse_doubles, parse_constant=refuse_constant)
    except UnicodeDecodeError:
        raise _corrupt("the header is no UTF-8 text", where) from None
    except json.JSONDecodeError as error:
        raise _corrupt(f"the header is no JSON: {error.msg} at character {error.pos}", where) from None
    except ValueError as error:
        raise _corrupt(f"the header cannot be used: {error}", where) from None
    except RecursionError:
        raise _corrupt("the header is nested too deeply", where) from None
    if not isinstance(records, dict):
        raise _corrupt("the header is no JSON object", where)
    return records


def _read_span(name: str, record: Any, data_start: int, where: Where) -> Span:
    """Check what the header says of one tensor, apart from the others."""
    label = printable(name[:200])
    place = Where(file=where.file, tensor=label)
    if not isinstance(record, dict) or set(record) != {"dtype", "shape", "data_offsets"}:
        raise _corrupt("a tensor's record must have dtype, shape and data_offsets, and nothing else", place)
    shape, offsets = record["shape"], record["data_offsets"]
    if not _whole_numbers(shape) or not _whole_numbers(offsets) or len(offsets) != 2:
        raise _corrupt("shape and data_offsets must be lists of whole numbers, data_offsets two of them", place)
    dtype = DTYPES.get(record["dtype"]) if isinstance(record["dtype"], str) else None
    if dtype is None:
        known = ", ".join(DTYPES)
        reason = f"dtype {printable(str(record['dtype'])[:40])!r} is none that is read here ({known})"
        raise UnreadableError("unsupported", reason, "store the tensor in one of these dtypes", place)
    if len(shape) > _MOST_AXES:
        raise _corrupt(f"a tensor of {len(shape)} axes; states have at most 4", place)
    size = prod(shape) * np.dtype(BIT_TYPES[dtype]).itemsize
    if offsets[1] - offsets[0] != size:
        reason = f"shape {shape} of {dtype} takes {size} bytes, the offsets span {offsets[1] - offsets[0]}"
        raise _corrupt(reason, place)
    return Span(dtype, tuple(shape), data_start + offsets[0], data_start + offsets[1])


def _check_cover(spans: Mapping[str, Span], data_start: int, found: FoundFile, where: Where) -> None:
    """Refuse data that the file does not hold, that two tensors share, or that belongs to none."""
    reached = data_start
    for span in sorted(spans.values(), key=lambda one: (one.start, one.stop)):
        if span.start < reached:
            raise _corrupt("two tensors share data, or one reaches into the header", where)
        if span.start > reached:
            raise _corrupt(f"{span.start - reached} bytes between two tensors belong to none", where)
        reached = span.stop
    if reached > found.size:
        raise _truncated(f"holds {found.size} bytes, its header describes {reached}", where)
    if reached < found.size:
        raise _corrupt(f"{found.size - reached} bytes after the last tensor belong to none", where)


def _map_tensor(found: FoundFile, span: Span) -> StoredTensor:
    dtype = np.dtype(BIT_TYPES[span.dtype])
    if span.start == span.stop:
        return StoredTensor(span.dtype, np.empty(span.shape, dtype))
    bits = np.memmap(found.path, dtype, mode="r", offset=span.start, shape=span.shape or (1,))
    return StoredTensor(span.dtype, bits if span.shape else bits.reshape(()))


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 62 for item in value)


def _truncated(reason: str, where: Where) -> UnreadableError:
    return UnreadableError("truncated", reason, "capture this sample again; the file was not written to its end", where)


def _corrupt(reason: str, where: Where) -> UnreadableError:
    return UnreadableError("corrupt", reason, "capture this sample again, and check the disk it lay on", where)
