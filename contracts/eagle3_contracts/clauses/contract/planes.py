"""Planes of a document: what targets come from, what is stored, in which format, and what nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from eagle3_contracts.boundaries import describe_boundary
from eagle3_contracts.clauses.wording import say_planes
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.contract.formats import HABITS, FormatHabit
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

SUBJECT = "document"


def check_final_state(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail if targets come from another boundary than n, or if the final norm is left out or applied twice."""
    plane, layers = contract.last_hidden_plane(), contract.target.num_hidden_layers
    if plane is None:
        observed = "last_hidden is none: the drafter is trained on logits, not on a stored state"
        return [clause.find(Verdict.SKIPPED, SUBJECT, observed=observed)]
    where = Where(plane=plane.name)
    if plane.boundary != layers:
        return [
            clause.find(
                Verdict.FAILED,
                SUBJECT,
                observed=f"last_hidden is {plane.name}, {describe_boundary(plane.boundary, layers)}",
                expected=f"boundary {layers}, the last of {layers} layers",
                where=where,
                hint=f"store boundary {layers} as pre_norm or post_norm and name that plane in drafter.last_hidden; a "
                f"drafter trained on this document predicts head(R[{plane.boundary}]), not the target",
            )
        ]
    if contract.norms_last_hidden() == (plane.state == "post_norm"):
        told = {
            "post_norm": f"the final norm is applied twice: {plane.name} is post_norm, and last_hidden_norm is true",
            "pre_norm": f"the final norm is never applied: {plane.name} is pre_norm, and last_hidden_norm is false",
        }
        hint = "leave drafter.last_hidden_norm out, unless the drafter was trained that way"
        return [clause.find(Verdict.FAILED, SUBJECT, observed=told[plane.state], where=where, hint=hint)]
    observed = f"last_hidden is {plane.name}, boundary {plane.boundary}, {plane.state}"
    return [clause.find(Verdict.PASSED, SUBJECT, observed=observed, where=where)]


def check_input_stored(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail for each format in which a plane of the input, or the state that targets come from, is not stored."""
    findings = []
    for dataset_format in (None, *contract.storage.formats):
        missing = list(_missing(contract, contract.stored_planes(dataset_format)))
        if missing:
            place = f"storage.formats.{dataset_format}" if dataset_format else "storage.planes"
            findings.append(
                clause.find(
                    Verdict.FAILED,
                    SUBJECT,
                    observed=f"{place} lacks {', '.join(missing)}",
                    where=Where(plane=missing[0]),
                    hint=f"add {' and '.join(missing)} to {place}: a loader cannot feed what is not on disk",
                )
            )
    formats = 1 + len(contract.storage.formats)
    observed = f"input and targets are stored in {formats} of {formats} orders"
    return findings or [clause.find(Verdict.PASSED, SUBJECT, observed=observed)]


def _missing(contract: Contract, stored: tuple[Plane, ...]) -> Iterator[str]:
    """Name what is not stored; either final state will do for targets, since the final norm leads from one to them."""
    names = {plane.name for plane in stored}
    yield from (name for name in contract.drafter.input if name not in names)
    last = contract.last_hidden_plane()
    if last is not None and last.name not in (*names, *contract.drafter.input):
        finals = [plane for plane in stored if plane.is_final and last.is_final]
        if not finals:
            yield last.name


def check_planes_used(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail if a plane is declared that no order on disk, no input and no target names."""
    orders = (contract.storage.planes, *contract.storage.formats.values(), contract.drafter.input)
    used = {name for order in orders for name in order} | {contract.drafter.last_hidden}
    idle = [plane.name for plane in contract.planes if plane.name not in used]
    if not idle:
        observed = f"{len(contract.planes)} of {len(contract.planes)} planes are used"
        return [clause.find(Verdict.PASSED, SUBJECT, observed=observed)]
    return [
        clause.find(
            Verdict.FAILED,
            SUBJECT,
            observed=f"nothing names {say_planes(idle)}",
            where=Where(plane=idle[0]),
            hint="delete the plane, or name it in storage.planes, storage.formats or drafter.input",
        )
    ]


def check_format_planes(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail for each declared format whose tool would write another final state, or the planes in another order."""
    if not contract.storage.formats:
        return [clause.find(Verdict.SKIPPED, SUBJECT, observed="storage.formats names no format")]
    findings = []
    for dataset_format in contract.storage.formats:
        habit = HABITS[dataset_format]
        stored = contract.stored_planes(dataset_format)
        for observed, hint in (*_foreign_states(stored, habit), *_foreign_order(stored, habit)):
            said = f"storage.formats.{dataset_format}: {observed}"
            expected = f"what the format's own tool writes ({habit.source})"
            findings.append(clause.find(Verdict.FAILED, SUBJECT, observed=said, expected=expected, hint=hint))
    observed = f"{len(contract.storage.formats)} formats are declared as their tools write them"
    return findings or [clause.find(Verdict.PASSED, SUBJECT, observed=observed)]


def _foreign_states(stored: tuple[Plane, ...], habit: FormatHabit) -> Iterator[tuple[str, str]]:
    for plane in stored:
        if plane.is_final and habit.final_state not in {None, plane.state}:
            yield (
                f"{plane.name} is {plane.state}",
                f"declare a {habit.final_state} plane at boundary {plane.boundary} and name it here",
            )


def _foreign_order(stored: tuple[Plane, ...], habit: FormatHabit) -> Iterator[tuple[str, str]]:
    boundaries = [plane.boundary for plane in stored]
    if habit.ascending and boundaries != sorted(boundaries):
        names = ", ".join(plane.name for plane in sorted(stored, key=lambda plane: plane.boundary))
        yield f"boundaries {', '.join(map(str, boundaries))} are not ascending", f"write {names}: the tool sorts them"
