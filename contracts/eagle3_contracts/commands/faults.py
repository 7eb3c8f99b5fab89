"""``faults``: the deliberate defects that prove what each clause catches; listed, written to disk, reproduced."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.commands.printing import print_json, print_lines
from eagle3_contracts.registry import CLAUSES

if TYPE_CHECKING:
    from eagle3_contracts.faults import Fault
    from eagle3_contracts.faults.making import MadeFault


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add what there is to do with faults: list them, write one to disk, write a reproducer of one."""
    parser.set_defaults(action="list")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="list them (default)")
    making = actions.add_parser("make", help="write one to disk, with the command of check that shows it")
    making.add_argument("fault", metavar="ID", help="the fault; with --sound a stage too")
    making.add_argument("folder", metavar="DIR", type=_name_folder, help="a folder that is new or empty")
    making.add_argument("--sound", action="store_true", help="write the counterpart without the fault")
    reproducing = actions.add_parser("repro", help="write one Python file that shows it without this project")
    reproducing.add_argument("fault", metavar="ID", help="the fault")
    reproducing.add_argument("--out", metavar="FILE", help="the file to write (default, and -: standard output)")
    for name, action in (("list", listing), ("make", making), ("repro", reproducing)):
        action.set_defaults(action=name)
        # Without a default of its own, which would undo a --json that stands before the action.
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    return {"list": _list, "make": _make, "repro": _reproduce}[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
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


def _make(arguments: argparse.Namespace) -> int:
    """Write a fault to disk, and say which command shows it."""
    from eagle3_contracts.faults.making import make_fault

    made = make_fault(arguments.fault, arguments.folder, sound=arguments.sound)
    if arguments.json:
        print_json({**made.as_dict(), "folder": str(made.folder)})
    else:
        print_lines(_describe_made(made))
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    """Write a reproducer, or say why there is none."""
    from eagle3_contracts.faults.reproducing import reproduce_fault
    from eagle3_contracts.writing.files import write_new

    text = reproduce_fault(arguments.fault)
    if arguments.out in {None, "-"}:
        if arguments.json:
            print_json({"id": arguments.fault, "text": text})
        else:
            sys.stdout.write(text)
        return 0
    out = Path(arguments.out)
    write_new(out, text)
    if arguments.json:
        print_json({"id": arguments.fault, "file": str(out), "bytes": len(text.encode())})
    else:
        print_lines([f"{out}: python {_quote(out)} exits with 1; with --sound it exits with 0"])
    return 0


def _name_folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the folder has no name")
    return Path(text)


def _quote(path: Path) -> str:
    """Write a path as a shell takes it, and as no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


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


def _describe_made(made: MadeFault) -> Iterator[str]:
    written = ", ".join(sorted(entry.name for entry in made.folder.iterdir()))
    yield f"{made.folder}: {written}"
    yield f"run       cd {_quote(made.folder)}"
    yield from (f"          {line}" for line in made.list_commands())
    what = "nothing is violated" if made.sound else f"{made.fault.clause} is violated"
    yield f"expected  exit code {made.exit_code}: {what}"
