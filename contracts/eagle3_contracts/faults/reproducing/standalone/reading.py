"""From files to facts: a place in a file to what stands there, a value or a table of numbers."""

from __future__ import annotations

import hashlib
import json
import pickletools
import shlex
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """Numbers of any shape, row by row."""

    shape: tuple[int, ...]
    dtype: str
    rows: list[list[float]]


Facts = dict[str, Any]
UNREAD = "cannot be read"


class UnableError(Exception):
    """This program cannot do its work here, which says nothing about the fault."""


def read_folder(folder: Path, *, sound: bool) -> dict[str, Facts]:
    """Read every file of a folder; what cannot be read is a fact too, unless the cause is not the file."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        try:
            found[name] = READERS.get(path.suffix, read_bytes)(path)
        except (ImportError, MemoryError, UnableError) as error:
            raise UnableError(f"{name}: {name_lack(error)}") from error
        except Exception as error:
            told = (f"{type(error).__name__}: {error}".splitlines() or [""])[0][:160]
            if sound:
                raise UnableError(f"{name} is in order, and cannot be read here: {told}") from error
            found[name] = {UNREAD: told}
    return found


def name_lack(error: BaseException) -> str:
    """Say what is missing here."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "needs torch: pip install torch"
    return f"{type(error).__name__}: {error}" if not isinstance(error, UnableError) else str(error)


def read_bytes(path: Path) -> Facts:
    """Give the size and digest of a file that has no reader."""
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def read_json(path: Path) -> Facts:
    """Give every value of a JSON file."""
    return dict(flatten(json.loads(path.read_text(encoding="utf-8"))))


def flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Give every value by its dotted place; lists of numbers, and lists of such lists, stay together."""
    table = as_table(value)
    if table is not None:
        yield place, table
    elif isinstance(value, dict | list) and value and not is_long(value):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flatten(item, f"{place}.{name}" if place else str(name))
    else:
        yield place, value


def is_long(value: Any) -> bool:
    """Tell whether a value is a long list of texts or nulls, which is told of as a whole."""
    return isinstance(value, list) and len(value) > 8 and not any(isinstance(item, dict | list) for item in value)


def as_table(value: Any) -> Table | None:
    """Give a list of numbers, or of equally long lists of them, as a table; else None."""
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(item, int | float) and not isinstance(item, bool) for item in value):
        return Table((len(value),), "list", [[number] for number in value])
    rows = value if all(isinstance(item, list) and item for item in value) else []
    flat = all(isinstance(item, int | float) and not isinstance(item, bool) for row in rows for item in row)
    if not rows or not flat or len({len(row) for row in rows}) != 1:
        return None
    return Table((len(rows), len(rows[0])), "list", rows)


def read_command(path: Path) -> Facts:
    """Read the flags of a command line as a shell takes it apart."""
    facts: Facts = {}
    flag = "command"
    for word in shlex.split(path.read_text(encoding="utf-8").replace("\\\n", " "), comments=True):
        if word.startswith("--"):
            flag = word
            facts[flag] = "set"
        else:
            facts[flag] = word if facts.get(flag, "set") == "set" else f"{facts[flag]} {word}"
    return facts


WIDTHS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


def read_safetensors(path: Path) -> Facts:
    """Read every tensor with the standard library alone."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    facts: Facts = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, stop = entry["data_offsets"]
        raw = data[8 + size :][first:stop]
        if len(raw) < stop - first:
            raise ValueError(f"{name} should end at byte {8 + size + stop:,}, and the file has {len(data):,}")
        facts[name] = make_table(tuple(entry["shape"]), entry["dtype"], decode(entry["dtype"], raw))
    return facts


def decode(dtype: str, raw: bytes) -> list[float]:
    """Give the numbers that some bytes hold."""
    if dtype == "F8_E4M3":
        return [decode_e4m3(byte) for byte in raw]
    if dtype == "F8_E5M2":  # the upper half of a float16
        raw, dtype = bytes(half for byte in raw for half in (0, byte)), "F16"
    if dtype == "BF16":  # the upper half of a float32
        halves = struct.unpack(f"<{len(raw) // 2}H", raw)
        raw = struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves))
        dtype = "F32"
    code = WIDTHS[dtype]
    return [float(number) for number in struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)]


def decode_e4m3(byte: int) -> float:
    """Give the number of one byte: sign, four bits of exponent, three of fraction; no infinities."""
    sign, exponent, fraction = -1.0 if byte & 0x80 else 1.0, byte >> 3 & 15, byte & 7
    if byte & 0x7F == 0x7F:
        return float("nan")
    return sign * ((8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0**-9)


def make_table(shape: tuple[int, ...], dtype: str, numbers: list[float]) -> Table:
    """Set numbers in rows of the last dimension's length."""
    width = (shape[-1] if len(shape) > 1 else 1) or 1
    return Table(shape, dtype, [numbers[at : at + width] for at in range(0, len(numbers), width)])


def read_torch(path: Path) -> Facts:
    """Read what torch.save wrote, without running the code that a pickle may hold."""
    import torch

    if not zipfile.is_zipfile(path):
        raise ValueError("torch.save writes a zip archive, and the end of this one is not there")
    try:
        record = torch.load(path, weights_only=True)
    except Exception:
        called = find_calls(path)
        if not called:
            raise
        return {UNREAD: f"its pickle calls {', '.join(called)}"}
    return dict(flatten_tensors(record))


def flatten_tensors(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Give every tensor and value of a record by its dotted place."""
    if hasattr(value, "dtype"):
        numbers = value.double().flatten().tolist()
        yield place, make_table(tuple(value.shape), str(value.dtype).removeprefix("torch."), numbers)
    elif isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flatten_tensors(item, f"{place}.{name}" if place else str(name))
    else:
        yield place, value


def find_calls(path: Path) -> list[str]:
    """Name the functions of a pickle that are none of torch's own."""
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        pickles = [archive.read(name) for name in archive.namelist() if name.endswith("data.pkl")]
    named = [str(given) for data in pickles for code, given, _ in pickletools.genops(data) if code.name == "GLOBAL"]
    return [name.replace(" ", ".") for name in named if not name.startswith(("torch", "collections"))]


READERS: dict[str, Callable[[Path], Facts]] = {
    ".json": read_json,
    ".sh": read_command,
    ".safetensors": read_safetensors,
    ".pt": read_torch,
    ".ckpt": read_torch,
    ".bin": read_torch,
}
