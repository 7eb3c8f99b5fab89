"""The reference for a server: a target to hold its planes against, the recording, and what it must answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import Array, Problem, TargetComparison
from eagle3_contracts.evidence.server import ServedProbe, ServerArguments, ServerRole
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.goldens import Golden, find_packaged
from eagle3_contracts.subjects.servers.drafts import Drafting, UnpredictedError, open_drafting
from eagle3_contracts.subjects.servers.predicting import Oracle

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target


@dataclass(frozen=True, slots=True)
class Reference:
    """``target``: None where none is at hand. ``source``: its folder or file. ``notes``: what could not be had."""

    golden: Golden | None = None
    target: Target | None = None
    source: Path | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def open_reference(contract: Contract, options: Options) -> Reference:
    """Open the recording of this contract if the package has one, and the target: the one given, else the recorded.

    Raises ``SubjectError`` for a target that the user named and that is none; a broken recording is a problem.
    """
    from eagle3_contracts.subjects.datasets.probing import RememberingTarget
    from eagle3_contracts.subjects.targets import open_target

    golden, problems = _open_golden(contract)
    source = options.target or (str(golden.target) if golden is not None else None)
    if source is None:
        note = "no target is at hand, so that planes, text and log-probabilities were compared with none"
        return Reference(golden, problems=problems, notes=(note,))
    target = cast("Target", RememberingTarget(open_target(source, contract)))
    return Reference(golden, target, Path(source), problems)


def _open_golden(contract: Contract) -> tuple[Golden | None, tuple[Problem, ...]]:
    try:
        return find_packaged(contract), ()
    except SubjectError as error:
        return None, (Problem("target", f"{error.source}: {error.reason}", error.remedy),)


def compare_rows(
    reference: Reference, contract: Contract, role: ServerRole, probes: tuple[ServedProbe, ...]
) -> tuple[TargetComparison | None, tuple[str, ...]]:
    """Hold the prompts' rows against the target, split by the hidden size; say which could not be held."""
    from eagle3_contracts.subjects.targets.comparing import compare_planes

    width = contract.target.hidden_size
    samples: list[tuple[tuple[int, ...], Array]] = []
    misfits = 0
    for probe in probes:
        rows = probe.alone.rows if probe.alone is not None else None
        if rows is None:
            continue
        if len(rows) != len(probe.token_ids) or rows.shape[1] % width:
            misfits += 1
            continue
        samples.append((probe.token_ids, rows.reshape(len(rows), -1, width).swapaxes(0, 1)))
    notes = (f"{misfits} blocks of rows have another length or width and were not compared",) if misfits else ()
    if reference.target is None or not samples:
        return None, notes
    return compare_planes(reference.target, contract, samples, declared=expected_planes(contract, role)), notes


def compare_later_rows(
    reference: Reference, contract: Contract, role: ServerRole, probes: tuple[ServedProbe, ...]
) -> TargetComparison | None:
    """Hold the rows of generated tokens against the target's on the text that the server gave; None if there are none.

    Row i is the state of output i, of all outputs but the last; answers with another number of rows are left out.
    """
    from eagle3_contracts.subjects.targets.comparing import compare_planes

    width = contract.target.hidden_size
    samples: list[tuple[tuple[int, ...], Array]] = []
    firsts: list[int] = []
    for probe in probes:
        answer = probe.alone
        rows, later = (answer.rows, answer.later_rows) if answer is not None else (None, None)
        if answer is None or rows is None or later is None or len(rows) != len(probe.token_ids):
            continue
        if len(later) != len(answer.output_ids) - 1 or later.shape[1] != rows.shape[1] or rows.shape[1] % width:
            continue
        whole = np.concatenate([rows, later])
        samples.append(
            ((*probe.token_ids, *answer.output_ids[:-1]), whole.reshape(len(whole), -1, width).swapaxes(0, 1))
        )
        firsts.append(len(rows))
    if reference.target is None or not samples:
        return None
    planes = expected_planes(contract, role)
    return compare_planes(reference.target, contract, samples, declared=planes, firsts=firsts)


def expected_planes(contract: Contract, role: ServerRole) -> tuple[Plane, ...]:
    """Give what a server's rows hold: what the drafter is fed, or of a plain one the state after the final norm."""
    if role != "plain":
        return contract.input_planes()
    return (Plane(name="final", boundary=contract.target.num_hidden_layers, state="post_norm"),)


def open_oracle(
    reference: Reference, contract: Contract, arguments: ServerArguments, role: ServerRole
) -> tuple[Oracle | None, tuple[str, ...]]:
    """Give what foretells answers; None, with the reason, without a whole target."""
    target = reference.target
    if target is None:
        return None, ()
    if target.rung is not Rung.FULL:
        return None, (f"answers were not foretold: the target at hand reaches the rung {target.rung!s} only",)
    if role != "eagle3":
        return Oracle(contract, target, unpredicted="the server drafts nothing"), ()
    drafting: Drafting | None = None
    why = ""
    try:
        drafting = open_drafting(contract, arguments, reference.golden, reference.source)
    except UnpredictedError as error:
        why = str(error)
    return Oracle(contract, target, drafting, why), ()
