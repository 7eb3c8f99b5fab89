"""Which planes reach fc and the loss, and whether they are of one token (``fc-input``, ``last-hidden``)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from eagle3_contracts.clauses.loader.anchors import find_anchors, name_row
from eagle3_contracts.clauses.loader.runs import find_obstacle, sound_rows
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import NOT_FINITE, ZEROS, LoadedRows, LoaderEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

UNKNOWN, ZEROED = "?", "zeros"
"""A block that is no stored plane: channels or planes mixed with one another, or nothing in its place."""


def check_fc_input(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if other planes reach fc than the contract declares, or the same in another order."""
    obstacle = find_obstacle(evidence)
    expected = [_as_stored(contract, evidence, plane) for plane in contract.input_planes()]
    lost = [plane.name for plane, found in zip(contract.input_planes(), expected, strict=True) if found is None]
    if obstacle is None and lost:
        obstacle = _not_stored(evidence, lost)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    wanted = tuple(plane.name for plane in expected if plane is not None)
    rows = sound_rows(evidence)
    wirings = _count_wirings(evidence, rows)
    if not wirings:
        reason = "no row of fc's input holds a stored plane: all are zeros, or values that are no numbers"
        return [Obstacle(reason, "see loader.values").finding(clause, evidence.subject)]
    found = [wiring for wiring, _ in wirings.most_common()]
    wrong = sum(count for wiring, count in wirings.items() if wiring != wanted)
    told = "; ".join(_say_wiring(contract, wiring) for wiring in found[:3])
    spread = f" (several: {', '.join(str(count) for _, count in wirings.most_common(3))} rows)" if found[1:] else ""
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=f"fc is fed {told}{spread}",
            expected=_say_wiring(contract, wanted),
            measure=float(wrong),
            bound=0.0,
            hint=_guess_cause(contract, evidence, wanted, found) if wrong else "",
        )
    ]


def _count_wirings(evidence: LoaderEvidence, rows: LoadedRows) -> Counter[tuple[str, ...]]:
    """Count the rows of each wiring; rows of padding, and rows that are not finite, have none."""
    fed = rows.plane[:, : rows.fed]
    told = ~((fed == ZEROS).all(axis=1) | (fed == NOT_FINITE).any(axis=1))
    return Counter(tuple(_name(evidence, int(plane)) for plane in row) for row in fed[told])


def _name(evidence: LoaderEvidence, plane: int) -> str:
    return evidence.stored[plane] if 0 <= plane < len(evidence.stored) else ZEROED if plane == ZEROS else UNKNOWN


def _as_stored(contract: Contract, evidence: LoaderEvidence, plane: Plane) -> Plane | None:
    """Give a plane as the format keeps it: itself, or the same boundary in another state; None if it is not there."""
    stored = contract.select(evidence.stored)
    if plane in stored:
        return plane
    return next((other for other in stored if other.boundary == plane.boundary), None)


def _not_stored(evidence: LoaderEvidence, lost: list[str]) -> Obstacle:
    return Obstacle(
        f"a dataset of format {evidence.format} holds {', '.join(evidence.stored)}, and no {', '.join(lost)}",
        "store the planes that the drafter is fed (storage.planes, storage.formats)",
    )


def _say_wiring(contract: Contract, names: tuple[str, ...]) -> str:
    """Write a wiring as an engineer does: ``cat(embed, low, mid), boundaries 0, 3, 31``."""
    boundaries = [str(contract.plane(name).boundary) if name not in {UNKNOWN, ZEROED} else name for name in names]
    wiring = f"cat({', '.join(names)})" if len(names) > 1 else names[0]
    return f"{wiring}, {'boundaries' if len(names) > 1 else 'boundary'} {', '.join(boundaries)}"


def _guess_cause(
    contract: Contract, evidence: LoaderEvidence, wanted: tuple[str, ...], found: list[tuple[str, ...]]
) -> str:
    first = found[0]
    if UNKNOWN in first:
        return "a block is no stored plane: planes were averaged, projected, or interleaved channel by channel"
    if ZEROED in first:
        return "a block holds nothing: a plane was dropped or masked, or its buffer was never filled"
    if len(found) > 1:
        return "rows differ in their wiring: the loader chooses planes sample by sample"
    if sorted(first) == sorted(wanted):
        return f"the planes are the declared ones in another order: concatenate {', '.join(wanted)}, by name"
    served = ", ".join(str(contract.plane(name).boundary) for name in first)
    if first == evidence.stored[:-1]:
        return (
            f"the loader feeds every stored plane but the last (speculators does: planes[:-1]), "
            f"{evidence.stored[0]} first: choose planes by name in the loader, or store {', '.join(wanted)} and one "
            f"last plane. A drafter trained so must be served with boundaries {served}"
        )
    return f"choose planes by name in the loader; a drafter trained so must be served with boundaries {served}"


def check_last_hidden(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if targets are computed from another plane than ``drafter.last_hidden``; skipped if that is none."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared = contract.last_hidden_plane()
    if declared is None:
        none = Obstacle("the contract declares no last hidden state (drafter.last_hidden = none)", skips=True)
        return [none.finding(clause, evidence.subject)]
    expected = _as_stored(contract, evidence, declared)
    if expected is None:
        return [_not_stored(evidence, [declared.name]).finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    planes = Counter(_name(evidence, int(plane)) for plane in rows.plane[:, -1] if plane != ZEROS)
    if not planes or rows.last_dtype is None:
        planes = Counter({"zeros alone" if rows.last_dtype else "no last hidden state": len(rows)})
    wrong = sum(count for name, count in planes.items() if name != expected.name)
    told = ", ".join(f"{name} ({count} rows)" for name, count in planes.most_common(3))
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=f"targets are computed from {told}",
            expected=f"{expected.name}, boundary {expected.boundary}{_say_state(expected)}",
            where=Where(plane=expected.name),
            measure=float(wrong),
            bound=0.0,
            hint="most loaders take the last stored plane: store the final state last, or choose it by name"
            if wrong
            else "",
        )
    ]


def _say_state(plane: Plane) -> str:
    return f" {plane.state.replace('_', '-')}" if plane.is_final else ""


def check_row_identity(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the planes of a row are rows of different tokens or samples."""
    del contract
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    anchors = find_anchors(rows, evidence.runs["sound"].samples)
    torn = np.flatnonzero(anchors.torn)
    if not len(torn):
        placed = int(anchors.placed.sum())
        if not placed:
            return [Obstacle("no row holds stored planes", "see loader.fc-input").finding(clause, evidence.subject)]
        observed = f"all {rows.fed} planes are of one token in {say_count(placed, 'row')}"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    first = int(torn[0])
    pieces = ", ".join(
        f"{_name(evidence, int(rows.plane[first, block]))} of sample {rows.sample[first, block]}, token "
        f"{rows.position[first, block]}"
        for block in range(rows.fed)
    )
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{len(torn)} of {len(rows)} rows mix planes of tokens; {name_row(rows, first)}: {pieces}",
            measure=float(len(torn)),
            bound=0.0,
            hint="shift and cut all planes by the same rows, once, after they are concatenated",
        )
    ]
