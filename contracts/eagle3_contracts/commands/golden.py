"""``record``: make a golden recording from stored weights."""

from __future__ import annotations

import argparse
from pathlib import Path

from eagle3_contracts.commands.printing import print_json, print_lines


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the contract and where its recording lies."""
    parser.add_argument("contract", metavar="NAME", help="the contract whose recording is made, or made again")
    told = "the folder of all recordings (default: golden/); in DIR/NAME/VERSION lie target/, sequences.json, drafter/"
    parser.add_argument("--golden", metavar="DIR", type=Path, help=told)


def run(arguments: argparse.Namespace) -> int:
    """Record, and name every file that differs from before."""
    from eagle3_contracts.recording import record

    made = record(arguments.contract, arguments.golden)
    if arguments.json:
        print_json(
            {
                "folder": str(made.folder),
                "files": list(made.files),
                "changed": list(made.changed),
                "agreement": dict(made.agreement),
            }
        )
        return 0
    measured = ", ".join(f"{name} {value:.3g}" for name, value in made.agreement.items())
    lines = [f"{made.folder}: {len(made.files)} files; the two routes agree ({measured})"]
    lines += [f"  changed: {name}" for name in made.changed] or ["  nothing changed"]
    print_lines(lines)
    return 0
