"""``diagnose``: tell whether a drafter is wired wrong or just under-trained."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.commands.printing import print_json, print_lines

if TYPE_CHECKING:
    from eagle3_contracts.diagnosis import Diagnosis, Measured

EXIT_CODES = {"wired wrong": 1, "wrong targets": 1, "under-trained": 0, "sound": 0, "cannot tell": 3}
"""Under-trained violates nothing: what the contract states holds."""


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the contract, the drafter, the samples and the target."""
    parser.add_argument("contract", metavar="NAME", help="NAME, NAME@VERSION or the path of a .toml file")
    parser.add_argument("--checkpoint", metavar="DIR", type=Path, required=True, help="the drafter")
    parser.add_argument("--hidden-states", metavar="DIR", required=True, help="captured samples, training data serves")
    parser.add_argument(
        "--target", metavar="DIR", help="the target: all of it gives every boundary, norm and head what to predict"
    )
    parser.add_argument(
        "--expected-accuracy",
        metavar="SHARE",
        type=read_share,
        help="what the trainer reported at step 0, such as 0.747; under-trained is judged against it",
    )


def read_share(text: str) -> float:
    """Read a share of rows, such as 0.747; raises ``ArgumentTypeError`` for a percentage and for what is no number."""
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if 1 < share <= 100:
        raise argparse.ArgumentTypeError(f"{text} is no share of rows; if it is a percentage, write {share / 100:g}")
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no share of rows: write a number from 0 to 1, such as 0.747")
    return share


def run(arguments: argparse.Namespace) -> int:
    """Search for the wiring that explains the drafter, and print what was found and how sure that is."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.diagnosis import diagnose
    from eagle3_contracts.diagnosis.opening import open_subjects

    contract = load_contract(arguments.contract)
    subjects = open_subjects(contract, arguments.checkpoint, arguments.hidden_states, arguments.target)
    found = diagnose(
        contract,
        subjects.weights,
        subjects.samples,
        subjects.target,
        expected_accuracy=arguments.expected_accuracy,
    )
    if arguments.json:
        print_json(found.encode())
    else:
        print_lines(describe_diagnosis(found))
    return EXIT_CODES[found.verdict]


def describe_diagnosis(found: Diagnosis) -> Iterator[str]:
    """Say a diagnosis in lines."""
    yield f"contract {found.contract}: {found.verdict}"
    yield from (f"  {reason}" for reason in found.reasons)
    yield f"fed to fc as the contract says: {found.declared}"
    yield from (f"  {line}" for line in _describe_measured(found.measured, found.reference))
    if found.differences:
        yield f"fed to fc as it was trained: {found.found}"
        yield from (f"  {line}" for line in _describe_measured(found.measured_as_found, found.reference))
    if found.neighbours:
        yield "not told apart from what was found:"
        yield from (f"  {item.name}: {item.value} (what was found: {item.sure})" for item in found.neighbours)
    if found.fixes:
        yield "to serve it as it was trained:"
        yield from (f"  {line}" for line in found.fixes)
    yield from (f"note: {note}" for note in found.notes)
    yield f"{found.samples} samples, {found.positions} held-out rows, {found.evaluations} runs of the drafter"


def _describe_measured(measured: Measured | None, reference: str) -> Iterator[str]:
    if measured is None:
        return
    if measured.against_target is not None:
        yield f"accuracy at step 0 against the target's choice ({reference}): {measured.against_target:.1%}"
    yield f"accuracy at step 0 against the text: {measured.against_text:.1%}"
    yield f"log-likelihood of what it should predict: {measured.log_likelihood:.3f} nats per row"
