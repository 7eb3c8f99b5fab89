"""The reproducer's own program: unpack, write, read, compare."""

from __future__ import annotations

import base64
import json
import lzma
import sys
import tempfile
from pathlib import Path

from eagle3_contracts.faults.reproducing.standalone.comparing import compare_folders
from eagle3_contracts.faults.reproducing.standalone.reading import read_folder

Files = dict[str, bytes]


def unpack(packed: str) -> dict[str, Files]:
    """Give the files of both sides, sound and faulty, by name."""
    head, _, data = lzma.decompress(base64.b85decode("".join(packed.split()))).partition(b"\n")
    return {
        side: {name: data[first:stop] for name, (first, stop) in places.items()}
        for side, places in json.loads(head).items()
    }


def write_files(files: Files, folder: Path) -> Path:
    """Write files into a folder."""
    folder.mkdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def show_difference(packed: str, arguments: list[str]) -> int:
    """Build what should be and what is, compare them, print what differs; 1 if anything does."""
    sides = unpack(packed)
    chosen = "sound" if "--sound" in arguments else "faulty"
    with tempfile.TemporaryDirectory() as scratch:
        expected = read_folder(write_files(sides["sound"], Path(scratch) / "expected"))
        observed = read_folder(write_files(sides[chosen], Path(scratch) / "observed"))
    lines = compare_folders(expected, observed)
    sys.stdout.write("\n".join([*lines, f"{len(lines)} {'difference' if len(lines) == 1 else 'differences'}"]) + "\n")
    return 1 if lines else 0
