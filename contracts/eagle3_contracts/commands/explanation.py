"""``explain``: a contract in every tool's dialect, or a checkpoint as every engine reads it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.boundaries import describe_boundary
from eagle3_contracts.commands.printing import print_json, print_lines, tabulate
from eagle3_contracts.testing.settings import SettingError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract


_FEW = 2
_SHOWN = 6
"""Lists that mean the same, as text; ``--json`` gives them all."""


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the contract, and the checkpoint that is explained instead of the dialects."""
    help_contract = "NAME, NAME@VERSION or the path of a .toml file; with --checkpoint it says what ids mean"
    parser.add_argument("contract", metavar="NAME", nargs="?", help=help_contract)
    parser.add_argument("--checkpoint", metavar="DIR", help="an exported drafter: how each engine and version reads it")


def run(arguments: argparse.Namespace) -> int:
    """Print the boundaries, and for each tool and range of versions the ids, or why there are none."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.dialects.explaining import explain

    if arguments.checkpoint is not None:
        return _run_checkpoint(arguments)
    if arguments.contract is None:
        raise SettingError("explain takes a contract (NAME), a checkpoint (--checkpoint DIR), or both")
    contract = load_contract(arguments.contract)
    explained = explain(contract)
    if arguments.json:
        print_json(explained)
    else:
        print_lines(_describe(contract, explained))
    return 0


def _run_checkpoint(arguments: argparse.Namespace) -> int:
    """Print how every engine and version reads a checkpoint; 3 if something of it could not be read."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.subjects.checkpoints.describing import describe_checkpoint

    if not arguments.checkpoint.strip():
        raise SettingError("--checkpoint is empty, so it is not known what to explain")
    contract = load_contract(arguments.contract) if arguments.contract is not None else None
    found = describe_checkpoint(Path(arguments.checkpoint.strip()), contract)
    if arguments.json:
        print_json(found)
    else:
        print_lines(_describe_checkpoint(found))
    return 3 if found["problems"] or not found["readings"] else 0


def _describe_checkpoint(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['checkpoint']}: {found['form'] or 'no known form'}"
    yield from (f"problem: {problem}" for problem in found["problems"])
    if found["contract"] is None:
        yield "no contract says which target it is for, so ids are not turned into boundaries"
    yield ""
    yield from tabulate(_READING_HEAD, [_reading_row(row) for row in found["readings"]])


_READING_HEAD = ("engine", "taps", "from", "fc", "tensors ignored", "flags ignored", "outcome")


def _reading_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    if "taps" not in row:
        return (row["engine"], "-", "-", "-", "-", "-", row["outcome"])
    taps = "?" if row["taps"] is None else ", ".join(row["taps"])
    fed = f" of {row['fc_input']} channels" if row["fc_input"] is not None else ""
    fc = f"{row['fc_planes']} planes{fed}" if row["fc_applied"] else "skipped"
    ignored = [*row["dropped"], *row["refused"], *row["never_applied"]]
    return (row["engine"], taps, row["ids"], fc, _few(ignored), _few(row["flags_ignored"]), row["outcome"])


def _few(names: Sequence[str]) -> str:
    if len(names) <= _FEW:
        return ", ".join(names) or "-"
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"


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
