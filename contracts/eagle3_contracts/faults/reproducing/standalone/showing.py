"""The reproducer's own program: unpack, write, read, compare."""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
from pathlib import Path

from eagle3_contracts.faults.reproducing.standalone.comparing import compare_folders
from eagle3_contracts.faults.reproducing.standalone.reading import UnableError, name_lack, read_folder

Files = dict[str, bytes]


def unpack(packed: str) -> dict[str, Files]:
    """Give the files of both sides, sound and faulty, by name."""
    import lzma

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


def run_program(packed: str, arguments: list[str]) -> int:
    """Run the program; its exit code says 2, never 1, of whatever keeps it from comparing."""
    parser = argparse.ArgumentParser(
        description="Compare what is recorded of a fault with the side that is in order, and print what differs.",
        epilog="exit codes: 1 something differs, 0 nothing does, 2 usage, or it could not be run",
        allow_abbrev=False,
    )
    parser.add_argument("--sound", action="store_true", help="compare the side that is in order with itself")
    chosen = "sound" if parser.parse_args(arguments).sound else "faulty"
    try:
        return show_difference(unpack(packed), chosen)
    except UnableError as error:
        sys.stderr.write(f"{error}\n")
    except Exception as error:  # noqa: BLE001 (an uncaught one would exit with 1, as if the fault were shown)
        sys.stderr.write(f"this program failed, and shows nothing: {name_lack(error)}\n")
    return 2


def show_difference(sides: dict[str, Files], chosen: str) -> int:
    """Write what should be and what is, read both, and print what differs; 1 if anything does."""
    with tempfile.TemporaryDirectory() as scratch:
        expected = read_folder(write_files(sides["sound"], Path(scratch) / "expected"), sound=True)
        observed = read_folder(write_files(sides[chosen], Path(scratch) / "observed"), sound=chosen == "sound")
    lines, count = compare_folders(expected, observed)
    sys.stdout.write("\n".join([*lines, f"{count} {'difference' if count == 1 else 'differences'}"]) + "\n")
    sys.stdout.flush()
    return 1 if count else 0
