"""``explain``: a contract in every tool's dialect."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eagle3_contracts.boundaries import describe_boundary
from eagle3_contracts.commands.printing import print_json, print_lines

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract


_SHOWN = 6
"""Lists that mean the same, as text; ``--json`` gives them all."""


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the contract."""
    parser.add_argument("contract", metavar="NAME", help="NAME, NAME@VERSION or the path of a .toml file")


def run(arguments: argparse.Namespace) -> int:
    """Print the boundaries, and for each tool and range of versions the ids, or why there are none."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.dialects.explaining import explain

    contract = load_contract(arguments.contract)
    explained = explain(contract)
    if arguments.json:
        print_json(explained)
    else:
        print_lines(_describe(contract, explained))
    return 0


def _describe(contract: Contract, explained: Mapping[str, Any]) -> Iterator[str]:
    layers = contract.target.num_hidden_layers
    yield f"contract {explained['contract']}: {contract.target.architecture}, {layers} layers"
    for plane in contract.planes:
        state = f", {plane.state}" if plane.is_final else ""
        yield f"  plane {plane.name}: {describe_boundary(plane.boundary, layers)}{state}"
    yield f"  fed to fc, in this order: boundaries {', '.join(map(str, explained['drafter_input']))}"
    for row in explained["dialects"]:
        yield ""
        yield from _describe_row(row)


def _describe_row(row: Mapping[str, Any]) -> Iterator[str]:
    """Give one tool's row: who, what for, which ids, where they are set, and what to mind."""
    setting = f", {row['setting']}" if row["setting"] else ""
    served = "; the contract serves it" if row["served"] else ""
    yield f"{row['tool']} {row['versions'] or '(no versions)'}{setting} ({row['purpose']}{served})"
    if row["ids"] is None:
        yield f"  no ids: {row['reason'] or 'not verified'}"
        return
    yield f"  ids {row['ids']}" + (", also the default" if row["default"] else "")
    if same := row["alternatives"]:
        more = f", and {len(same) - _SHOWN} more" if len(same) > _SHOWN else ""
        yield f"  means the same: {', '.join(map(str, same[:_SHOWN]))}{more}"
    if row["stable"] is None:
        yield "  no list means this in all versions"
    yield f"  set in: {row['takes']}"
    if row["reason"]:
        yield f"  mind: {row['reason']}"
