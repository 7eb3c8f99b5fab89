"""Files of ``torch.save``: ``.pt``, ``.ckpt`` and ``.ckpt.gz``, read with ``weights_only=True`` after a look inside.

Three containers: the zip archive of torch >= 1.6 (memory-mapped), the older row of pickles (read whole, so its
size is capped) and gzip around either (unpacked into a temporary file elsewhere, with a cap).
"""

from __future__ import annotations

import gzip
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.pickles import PickleScan, scan_pickles
from eagle3_contracts.subjects.datasets.stored import Entry, FoundFile, UnreadableError
from eagle3_contracts.subjects.datasets.tensors import to_value
from eagle3_contracts.subjects.datasets.walking import printable
from eagle3_contracts.subjects.datasets.zip_archives import ZIP_MAGIC, check_sums, read_archive

PICKLE_CAP = 8 << 20
"""Bytes of pickle in one file; the headers of a sample's tensors take about a kilobyte."""

WHOLE_CAP = 2 << 30
"""Bytes of a file that has to be read whole, because torch cannot memory-map it."""

UNPACKED_CAP = 4 << 30
"""Bytes that a gzip file may unpack to; 16,384 tokens of four planes of 7168 in bfloat16 take 0.9 GB."""

_LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""The first pickle of the older container: the number 0x1950a86a20f9469cfc6c."""

_LEGACY_PICKLES = 5
"""Magic number, protocol, system, the object, the storage keys (torch/serialization.py, ``_legacy_save``)."""

_AGAIN = "capture this sample again; the file was not written to its end, or has changed since"
_REWRITE = (
    "write it again with torch.save of a dict of tensors and plain values; do not load it with weights_only=False"
)


def open_torch(found: FoundFile, *, sums: bool) -> list[Entry]:
    """Open one file as samples: one for a dict, several for a list of dicts. ``UnreadableError`` says why not.

    ``sums``: compare the archive's checksums, which reads the whole file once.
    """
    where = Where(file=found.name)
    if found.suffix == ".ckpt.gz":
        with _unpacked(found.path, where) as path:
            return _entries(_load(path, where, sums=sums), found)
    return _entries(_load(found.path, where, sums=sums), found)


def _load(path: Path, where: Where, *, sums: bool) -> Any:
    """Check a file's inside, then load it; anything that torch raises becomes a problem."""
    with path.open("rb") as handle:
        zipped = handle.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    size = path.stat().st_size
    if zipped:
        archive = read_archive(path, where, PICKLE_CAP)
        _judge(scan_pickles(archive.pickle, 1), size, where)
        if sums:
            check_sums(path, archive, where)
        return _load_checked(path, where, mapped=_is_utf8(path))
    if tarfile.is_tarfile(path):
        reason = "a tar archive, torch's container before 0.1.10, which no current writer makes"
        raise UnreadableError("unsupported", reason, _REWRITE, where)
    with path.open("rb") as handle:
        head = handle.read(PICKLE_CAP)
    legacy = head.startswith(_LEGACY_MAGIC)
    scan = scan_pickles(head, _LEGACY_PICKLES if legacy else 1)
    _judge(scan, size, where)
    if not legacy:
        raise UnreadableError("unknown-format", "a plain pickle, not a file of torch.save", _REWRITE, where)
    return _load_checked(path, where, mapped=False)


def _judge(scan: PickleScan, size: int, where: Where) -> None:
    """Refuse a pickle that asks for more than tensors, is cut off, or claims more than the file holds."""
    if scan.unsafe:
        asked = ", ".join(printable(name[:100]) for name in list(scan.unsafe)[:5])
        reason = f"holds more than tensors and plain values: loading it would call {asked}"
        raise UnreadableError("unsafe", reason, _REWRITE, where)
    if scan.broken:
        reason = f"its pickle cannot be read to its end: {printable(scan.broken[:100])}"
        raise UnreadableError("truncated", reason, _AGAIN, where)
    if scan.elements > size:
        reason = f"a tensor claims {scan.elements} elements, the file has {size} bytes"
        raise UnreadableError("corrupt", reason, _AGAIN, where)


def _load_checked(path: Path, where: Where, *, mapped: bool) -> Any:
    try:
        import torch
    except ImportError:
        reason = "a file of torch.save is read with torch, which is not installed"
        raise UnreadableError("needs", reason, "pip install 'eagle3-contracts[torch]'", where) from None
    if not mapped and path.stat().st_size > WHOLE_CAP:
        reason = f"{path.stat().st_size} bytes in a container that can only be read whole (cap {WHOLE_CAP})"
        raise UnreadableError("unsupported", reason, "save it again with a current torch.save", where)
    try:
        if mapped:
            return torch.load(str(path), map_location="cpu", weights_only=True, mmap=True)
        with path.open("rb") as handle:
            return torch.load(handle, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        reason = f"torch refuses it as unsafe: {_first_line(error)}"
        raise UnreadableError("unsafe", reason, _REWRITE, where) from None
    except Exception as error:  # noqa: BLE001 - torch raises whatever a damaged file makes it stumble over
        reason = f"torch cannot load it: {type(error).__name__}: {_first_line(error)}"
        raise UnreadableError("corrupt", reason, _AGAIN, where) from None


def _entries(loaded: Any, found: FoundFile) -> list[Entry]:
    """Turn what was loaded into samples; only a dict, or a list of dicts, holds any."""
    where = Where(file=found.name)
    listed = isinstance(loaded, list | tuple)
    items = list(loaded) if listed else [loaded]
    if not items:
        raise UnreadableError("empty", "an empty list, no sample in it", "remove the file or capture again", where)
    entries = []
    for index, item in enumerate(items):
        place = f"{found.name}[{index}]" if listed else found.name
        if not isinstance(item, dict):
            reason = f"holds a {type(item).__name__} where every format keeps a dict of tensors"
            raise UnreadableError("unknown-format", reason, "remove the file if it is no sample", Where(file=place))
        values = {
            printable(key[:200]): to_value(value, found, place, key) for key, value in item.items() if type(key) is str
        }
        entries.append(Entry(found, place, "torch", listed, values))
    return entries


@contextmanager
def _unpacked(path: Path, where: Where) -> Iterator[Path]:
    """Unpack a gzip file into a temporary one, at most ``UNPACKED_CAP`` bytes; removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="eagle3-contracts-") as folder:
        target = Path(folder) / "sample.ckpt"
        written = 0
        try:
            with gzip.open(path, "rb") as source, target.open("wb") as sink:
                while block := source.read(1 << 20):
                    written += len(block)
                    if written > UNPACKED_CAP:
                        reason = f"unpacks to more than {UNPACKED_CAP} bytes"
                        raise UnreadableError("unsafe", reason, "unpack it yourself if it really is a sample", where)
                    sink.write(block)
        except EOFError:
            raise UnreadableError("truncated", "the gzip stream ends too early", _AGAIN, where) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableError("corrupt", f"not readable as gzip: {error}", _AGAIN, where) from None
        yield target


def _is_utf8(path: Path) -> bool:
    """Tell whether torch can take the path as text; its memory-mapping opens by name."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return printable(lines[0][:200]) if lines else "no reason given"
