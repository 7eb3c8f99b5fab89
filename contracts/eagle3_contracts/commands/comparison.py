"""``diff``: what changed between two contracts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eagle3_contracts.commands.printing import print_json, print_lines

if TYPE_CHECKING:
    from eagle3_contracts.contract.changes import Change


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the two contracts."""
    for name, metavar in (("old", "A"), ("new", "B")):
        parser.add_argument(name, metavar=metavar, help="NAME, NAME@VERSION or the path of a .toml file")


def run(arguments: argparse.Namespace) -> int:
    """Print every change with its kind; 0 also where contracts differ."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.contract.comparing import compare

    found = compare(load_contract(arguments.old), load_contract(arguments.new))
    if arguments.json:
        print_json(found.as_dict())
        return 0
    kind = "no change" if found.kind is None else f"{found.kind}, {len(found.changes)} changes"
    lines = [f"{found.old} -> {found.new}: {kind}", *(f"  {_describe(change)}" for change in found.changes)]
    if found.version_suffices is False:
        lines.append(f"the new version number is too low: these changes call for {found.required_version} at least")
    print_lines(lines)
    return 0


def _describe(change: Change) -> str:
    """Give a change as one line; of texts only that they changed (``--json`` gives both)."""
    return f"{change.kind}: {change.place} ({change.reason})" if change.kind == "editorial" else str(change)
