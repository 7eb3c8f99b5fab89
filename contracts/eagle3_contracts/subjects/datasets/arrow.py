"""The Arrow dataset that speculators >= 0.5 keeps beside its states, read with pyarrow alone.

``datasets.save_to_disk`` writes ``state.json``, which names the data files, and Arrow IPC streams. The names must stay
in the folder; every batch is validated in full before a value is read, since offsets in it lead into memory.
"""

from __future__ import annotations

import json
import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.stored import INTEGERS, StoredTensor, UnreadableError
from eagle3_contracts.subjects.datasets.walking import printable

STATE_CAP = 4 << 20
_COLUMNS = ("input_ids", "loss_mask")
_DICTIONARY, _RECORDS = 2, 3
_BATCHES = (_DICTIONARY, _RECORDS)
"""Kinds of message that have a body (Message.fbs, MessageHeader)."""

_AGAIN = "write the dataset again with save_to_disk"


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """The rows of an Arrow dataset: validated batches, and the row each begins with."""

    batches: tuple[Any, ...]
    starts: tuple[int, ...]
    rows: int

    def column(self, name: str, row: int) -> StoredTensor | None:
        """Give one row's list of whole numbers; None if there is no such row or column, or it is empty there."""
        if not 0 <= row < self.rows:
            return None
        index = bisect_right(self.starts, row) - 1
        batch = self.batches[index]
        if name not in batch.schema.names:
            return None
        values = getattr(batch.column(batch.schema.get_field_index(name))[row - self.starts[index]], "values", None)
        if values is None:
            return None
        numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        dtype = str(numbers.dtype)
        return StoredTensor(dtype, numbers) if dtype in {*INTEGERS, "bool", "float32", "float64"} else None


def find_arrow(folder: Path) -> bool:
    """Tell whether a folder is an Arrow dataset as ``save_to_disk`` writes it."""
    return (folder / "state.json").is_file()


def open_arrow(folder: Path) -> ArrowRows:
    """Open an Arrow dataset; ``UnreadableError`` (needs, corrupt, truncated, missing, unsafe) says why it cannot be."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        reason = "the loss masks lie in an Arrow dataset, which is read with pyarrow, which is not installed"
        raise UnreadableError(
            "needs", reason, "pip install 'eagle3-contracts[arrow]'", Where(file="state.json")
        ) from None
    batches: list[Any] = []
    for name in _data_files(folder):
        where = Where(file=printable(name))
        try:
            batches += _read_stream(folder / name)
        except (pa.ArrowException, OSError, ValueError) as error:
            first = printable((str(error).splitlines() or [""])[0][:160])
            raise UnreadableError("corrupt", f"not readable as an Arrow stream: {first}", _AGAIN, where) from None
    starts, rows = [], 0
    for batch in batches:
        starts.append(rows)
        rows += batch.num_rows
    return ArrowRows(tuple(batches), tuple(starts), rows)


def _data_files(folder: Path) -> list[str]:
    """Give the data files that state.json names, each a plain file in the folder itself."""
    where = Where(file="state.json")
    state = read_json(folder / "state.json", STATE_CAP, where)
    records = state.get("_data_files") if isinstance(state, dict) else None
    if not isinstance(records, list) or not all(isinstance(item, dict) for item in records):
        raise UnreadableError("corrupt", "names no list of _data_files", _AGAIN, where)
    names = [item.get("filename") for item in records]
    for name in names:
        if (
            not isinstance(name, str)
            or name in {"", ".", ".."}
            or Path(name).name != name
            or "\\" in name
            or "\0" in name
        ):
            reason = f"names a data file outside its folder: {printable(str(name)[:100])}"
            raise UnreadableError("unsafe", reason, "name plain files in the dataset's folder only", where)
        path = folder / name
        if path.is_symlink() and folder.resolve() not in path.resolve().parents:
            reason = f"names {printable(name)}, a link that leaves the folder"
            raise UnreadableError("unsafe", reason, "copy the file in (cp -L)", where)
        if not path.is_file():
            raise UnreadableError("missing", f"names {printable(name)}, which is not there", _AGAIN, where)
    return [name for name in names if isinstance(name, str)]


def _read_stream(path: Path) -> list[Any]:
    """Read one file's batches, the wanted columns only, memory-mapped and each validated in full."""
    import pyarrow as pa

    with pa.memory_map(str(path), "r") as source:
        for message in pa.ipc.MessageReader.open_stream(source):
            if is_compressed(message.metadata.to_pybytes()):
                raise ValueError("its batches are compressed, which datasets never does; they may unpack to anything")
    schema = pa.ipc.open_stream(pa.memory_map(str(path), "r")).schema
    wanted = [index for index, name in enumerate(schema.names) if name in _COLUMNS]
    options = pa.ipc.IpcReadOptions(included_fields=wanted)
    batches = list(pa.ipc.open_stream(pa.memory_map(str(path), "r"), options=options)) if wanted else []
    for batch in batches:
        batch.validate(full=True)
    return batches


def is_compressed(metadata: bytes) -> bool:
    """Tell from a message's metadata whether its body is compressed (Message.fbs: RecordBatch.compression).

    A flatbuffer: a table begins with the distance back to its vtable, which holds the place of each field.
    """

    def field(table: int, index: int) -> int:
        vtable = table - struct.unpack_from("<i", metadata, table)[0]
        size = struct.unpack_from("<H", metadata, vtable)[0]
        slot = 4 + 2 * index
        offset = struct.unpack_from("<H", metadata, vtable + slot)[0] if slot < size else 0
        return table + offset if offset else 0

    try:
        message = struct.unpack_from("<I", metadata, 0)[0]
        kind, header = field(message, 1), field(message, 2)
        if not kind or not header or metadata[kind] not in _BATCHES:
            return False
        body = header + struct.unpack_from("<I", metadata, header)[0]
        if metadata[kind] == _DICTIONARY:
            inner = field(body, 1)
            body = inner + struct.unpack_from("<I", metadata, inner)[0]
        return bool(field(body, 3))
    except (struct.error, IndexError):
        return True


def read_json(path: Path, cap: int, where: Where) -> Any:
    """Read a small JSON file; ``UnreadableError`` (corrupt) if it is larger than ``cap`` or no JSON."""
    try:
        with path.open("rb") as handle:
            data = handle.read(cap + 1)
        if len(data) > cap:
            raise UnreadableError("corrupt", f"larger than {cap} bytes", "remove it or write it again", where)
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = f"no JSON: {printable(str(error)[:100])}"
        raise UnreadableError("corrupt", reason, "remove it or write it again", where) from None
    except OSError as error:
        raise UnreadableError("corrupt", f"cannot be read: {error.strerror}", "make it readable", where) from None


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"the value {text} is no JSON")
