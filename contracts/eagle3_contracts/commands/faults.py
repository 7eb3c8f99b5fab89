"""``faults``: the deliberate defects that prove what each clause catches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eagle3_contracts.commands.printing import print_json, print_lines
from eagle3_contracts.registry import CLAUSES

if TYPE_CHECKING:
    from eagle3_contracts.faults import Fault


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the one thing there is to do with faults here: list them."""
    parser.add_argument("action", nargs="?", choices=("list",), default="list", help="list them (default)")


def run(arguments: argparse.Namespace) -> int:
    """Print every fault with the clause that must catch it, and the clauses that no fault proves."""
    from eagle3_contracts.faults import list_faults

    faults = list_faults()
    caught = {fault.clause for fault in faults}
    unproved = [item.id for item in CLAUSES if item.id not in caught]
    if arguments.json:
        print_json({"faults": [_encode(fault) for fault in faults], "unproved_clauses": unproved})
    else:
        print_lines(line for fault in faults for line in _describe(fault))
        print_lines([f"{len(faults)} faults; {len(caught)} of {len(CLAUSES)} clauses have one"])
        print_lines(f"no fault proves {clause}" for clause in unproved)
    return 0


def _encode(fault: Fault) -> dict[str, object]:
    return {
        "id": fault.id,
        "kind": str(fault.kind),
        "stage": fault.stage,
        "clause": fault.clause,
        "companions": list(fault.companions),
        "mechanism": fault.mechanism,
        "source": fault.source,
    }


def _describe(fault: Fault) -> Iterator[str]:
    beside = f" (with {', '.join(fault.companions)})" if fault.companions else ""
    yield f"{fault.id}: caught by {fault.clause}{beside}"
    yield f"  {fault.mechanism}"
    yield f"  {fault.kind}; seen in {fault.source}"
