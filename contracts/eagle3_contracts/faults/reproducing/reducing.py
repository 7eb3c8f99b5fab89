"""Recordings made small: what both sides share is left out, and of many tensors that differ a few are kept."""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator
from typing import Any

from eagle3_contracts.faults.reproducing.recording import Files, Sides

MOST_PACKED = 190_000
"""Bytes, compressed, beyond which no further file is taken."""

_MOST_FILES = 6

_MOST_TENSORS = 60_000
"""Bytes of tensors kept of one file."""

_DICTIONARY = (1 << 12, 1 << 26)
"""Bytes: the smallest that LZMA2 has, and that of preset 9."""

_DIGESTS = ("recording/manifest.json", "files")


def reduce_sides(sides: Sides) -> tuple[Sides, list[str]]:
    """Keep what differs, the smallest first, up to a size; say what was left out."""
    names = [name for name in {**sides.sound, **sides.faulty} if sides.sound.get(name) != sides.faulty.get(name)]
    pairs = {name: _reduce(name, sides, names) for name in names}
    names = sorted((name for name in names if pairs[name][0] != pairs[name][1]), key=lambda name: _size(pairs[name]))
    kept = Sides({}, {})
    left_out = []
    packed = 0
    for at, name in enumerate(names):
        sound, faulty = pairs[name]
        pair = Sides(_with({}, name, sound), _with({}, name, faulty))
        packed += len(pack(pair)) if at < _MOST_FILES else MOST_PACKED
        if at and packed > MOST_PACKED:
            left_out.append(name)
        else:
            kept = Sides(kept.sound | pair.sound, kept.faulty | pair.faulty)
    return kept, sorted(left_out)


def pack(sides: Sides) -> bytes:
    """Compress both sides into one piece: a line of JSON that says where each file lies, and the files."""
    data = b""
    places: dict[str, dict[str, tuple[int, int]]] = {}
    for side, files in (("sound", sides.sound), ("faulty", sides.faulty)):
        places[side] = {}
        for name, content in files.items():
            places[side][name] = (len(data), len(data) + len(content))
            data += content
    return _compress(json.dumps(places, separators=(",", ":")).encode() + b"\n" + data)


def _compress(data: bytes) -> bytes:
    """Compress as preset 9 does, with a dictionary of the data's own size: that of the preset is 64 MiB to set up."""
    size = min(max(1 << (len(data) - 1).bit_length(), _DICTIONARY[0]), _DICTIONARY[1])
    return lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": size}])


def _with(files: Files, name: str, data: bytes | None) -> Files:
    return files if data is None else {**files, name: data}


def _size(pair: tuple[bytes | None, bytes | None]) -> int:
    return sum(len(data) for data in pair if data is not None)


def _reduce(name: str, sides: Sides, differing: list[str]) -> tuple[bytes | None, bytes | None]:
    sound, faulty = sides.sound.get(name), sides.faulty.get(name)
    if name == _DIGESTS[0] and sound and faulty:
        return _forget_digests(sound, differing), _forget_digests(faulty, differing)
    if not name.endswith(".safetensors") or sound is None or faulty is None:
        return sound, faulty
    if sound.startswith(faulty):  # cut off: cut what is kept in the same way
        whole = _keep(sound, set(_smallest(dict(_tensors(sound)), {})))
        return whole, whole[: len(whole) * len(faulty) // len(sound)]
    ours, theirs = dict(_tensors(sound)), dict(_tensors(faulty))
    kept = set(_smallest(ours, theirs))
    return _keep(sound, kept), _keep(faulty, kept)


def _forget_digests(data: bytes, differing: list[str]) -> bytes:
    """Leave out of a recording's list the files that differ: the reduced ones have other digests anyway."""
    try:
        table = json.loads(data)
    except ValueError:
        return data
    changed = {name.removeprefix("recording/") for name in differing}
    table[_DIGESTS[1]] = {name: entry for name, entry in table[_DIGESTS[1]].items() if name not in changed}
    return json.dumps(table).encode()


def _tensors(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Give what stands for each tensor: its header entry without the place, and its bytes."""
    size = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, stop = entry["data_offsets"]
            yield name, json.dumps([entry["dtype"], entry["shape"]]).encode() + data[8 + size + first : 8 + size + stop]


def _smallest(ours: dict[str, bytes], theirs: dict[str, bytes]) -> Iterator[str]:
    """Choose the tensors that differ, the smallest first."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    sizes = {name: max(len(ours.get(name, b"")), len(theirs.get(name, b""))) for name in names}
    total = 0
    for name in sorted(names, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if total > _MOST_TENSORS and total > sizes[name]:
            return
        yield name


def _keep(data: bytes, names: set[str]) -> bytes:
    """Write a safetensors file that holds some of the tensors."""
    size = struct.unpack("<Q", data[:8])[0]
    header: dict[str, Any] = {}
    content = b""
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name in names:
            first, stop = entry["data_offsets"]
            header[name] = {**entry, "data_offsets": [len(content), len(content) + stop - first]}
            content += data[8 + size + first : 8 + size + stop]
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + content
