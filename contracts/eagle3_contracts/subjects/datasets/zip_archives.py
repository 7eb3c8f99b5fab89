"""The zip archive of ``torch.save``, checked before torch sees it.

torch maps the archive and takes the records as they lie there, so they must be stored uncompressed and inside
the file; their checksums, which torch does not look at, tell a flipped bit in a tensor.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.stored import UnreadableError
from eagle3_contracts.subjects.datasets.walking import printable

ZIP_MAGIC = b"PK\x03\x04"

_LOCAL = struct.Struct("<4s22xHH")
"""A local file header: signature, then the lengths of name and extra field at bytes 26 and 28."""

_BLOCK = 1 << 20
_AGAIN = "capture this sample again; the file was not written to its end, or has changed since"


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the archive: its name, where its bytes lie, the checksum that was stored for them."""

    name: str
    start: int
    stop: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Archive:
    """A torch archive: its pickle, and its records."""

    pickle: bytes
    records: tuple[Record, ...]


def read_archive(path: Path, where: Where, pickle_cap: int) -> Archive:
    """Read the directory and the pickle; ``UnreadableError`` if cut off, compressed or no torch archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        reason = f"begins as a torch archive but has no readable directory at its end ({printable(str(error)[:80])})"
        raise UnreadableError("truncated", reason, _AGAIN, where) from None
    names = [info.filename.partition("/")[2] for info in infos]
    if "constants.pkl" in names:
        raise UnreadableError("unsupported", "a TorchScript archive, no saved dict", "remove it", where)
    if names.count("data.pkl") != 1:
        reason = f"a zip archive with {names.count('data.pkl')} data.pkl where torch.save writes one"
        raise UnreadableError("unknown-format", reason, "remove it if it is no sample", where)
    pickled = names.index("data.pkl")
    if infos[pickled].file_size > pickle_cap:
        reason = f"a pickle of {infos[pickled].file_size} bytes, where a sample's takes about a thousand"
        raise UnreadableError("unsupported", reason, "store states as tensors, not as lists of numbers", where)
    with path.open("rb") as handle, mmap(handle.fileno(), 0, access=ACCESS_READ) as data:
        records = tuple(_read_record(info, name, data, where) for info, name in zip(infos, names, strict=True))
        return Archive(data[records[pickled].start : records[pickled].stop], records)


def check_sums(path: Path, archive: Archive, where: Where) -> None:
    """Compare every checksum; raise ``UnreadableError`` (corrupt) where one is wrong.

    All zero means that torch was told not to compute them (``torch.serialization.set_crc32_options``).
    """
    if not any(record.checksum for record in archive.records):
        return
    with path.open("rb") as handle, mmap(handle.fileno(), 0, access=ACCESS_READ) as data:
        wrong = [record.name for record in archive.records if _checksum(data, record) != record.checksum]
    if wrong:
        names = ", ".join(printable(name) for name in wrong[:3])
        reason = f"the checksum of {names} is wrong: bytes have changed since it was written"
        raise UnreadableError("corrupt", reason, _AGAIN, where)


def _read_record(info: zipfile.ZipInfo, name: str, data: mmap, where: Where) -> Record:
    """Find a record's bytes, from its local header."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        reason = "the archive is compressed; torch.save stores its records as they are"
        raise UnreadableError("unsafe", reason, "write it again with torch.save", where)
    fixed = data[info.header_offset : info.header_offset + _LOCAL.size]
    if len(fixed) == _LOCAL.size and fixed.startswith(ZIP_MAGIC):
        _, name_length, extra_length = _LOCAL.unpack(fixed)
        start = info.header_offset + _LOCAL.size + name_length + extra_length
        if start + info.file_size <= len(data):
            return Record(name, start, start + info.file_size, info.CRC)
    raise UnreadableError("corrupt", "a record of the archive lies outside the file", _AGAIN, where)


def _checksum(data: mmap, record: Record) -> int:
    total = 0
    for at in range(record.start, record.stop, _BLOCK):
        total = zlib.crc32(data[at : min(at + _BLOCK, record.stop)], total)
    return total
