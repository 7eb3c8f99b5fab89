"""Rows of planes, whatever the stage: finite, not all zeros, and of the declared median norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Plane
from eagle3_contracts.evidence import Array, PlaneRecord, Tally
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.numerics import QuantileSketch
from eagle3_contracts.registry import Clause


def name_plane(planes: Sequence[Plane], index: int, count: int) -> str:
    """Name a plane by its declaration, or by its place if another number of planes came than was declared."""
    return planes[index].name if len(planes) == count else f"#{index + 1} of {count}"


def list_damaged(planes: Sequence[Plane], records: Sequence[PlaneRecord]) -> tuple[str, ...]:
    """Name the planes that have rows which are not finite, or all zeros."""
    count = len(records)
    damaged = [index for index, record in enumerate(records) if record.nonfinite.count or record.zero.count]
    return tuple(name_plane(planes, index, count) for index in damaged)


def judge_finite(
    clause: Clause, subject: str, planes: Sequence[Plane], records: Sequence[PlaneRecord]
) -> list[Finding]:
    """Judge whether rows hold NaN or infinite values; one finding per plane that has such rows."""
    hint = (
        "find the request by the place named, and run it again in float32: values beyond 65,504 overflow in float16; "
        "leave the sample out only on purpose, and count what was left out"
    )
    return _judge_tallies(clause, subject, planes, records, lambda record: record.nonfinite, "NaN or infinite", hint)


def judge_zero_rows(
    clause: Clause, subject: str, planes: Sequence[Plane], records: Sequence[PlaneRecord]
) -> list[Finding]:
    """Judge whether rows are all zeros: slots that nobody wrote; one finding per plane that has such rows."""
    hint = (
        "the slots were allocated and never written: check slot mapping and block size of the capture (vLLM PR "
        "#46301), and capture again; training on such rows converges all the same"
    )
    return _judge_tallies(clause, subject, planes, records, lambda record: record.zero, "all zeros", hint)


def _judge_tallies(
    clause: Clause,
    subject: str,
    planes: Sequence[Plane],
    records: Sequence[PlaneRecord],
    pick: Callable[[PlaneRecord], Tally],
    what: str,
    hint: str,
) -> list[Finding]:
    total = sum(record.rows for record in records)
    if not total:
        return [
            Obstacle("no row was read", f"see {clause.stage}.rows and what could not be read").finding(clause, subject)
        ]
    findings = []
    for index, record in enumerate(records):
        tally = pick(record)
        if not tally.count:
            continue
        name = name_plane(planes, index, len(records))
        first = tally.place
        findings.append(
            clause.find(
                Verdict.FAILED,
                subject,
                observed=f"{tally.count:,} of {record.rows:,} rows of plane {name} are {what}",
                where=Where(file=first.file, plane=name, token=first.token),
                measure=float(tally.count),
                bound=0.0,
                hint=hint,
            )
        )
    passed = clause.find(Verdict.PASSED, subject, observed=f"none of {total:,} rows is {what}", measure=0.0, bound=0.0)
    return findings or [passed]


def judge_norms(clause: Clause, subject: str, planes: Sequence[Plane], records: Sequence[PlaneRecord]) -> list[Finding]:
    """Judge the median norm of each plane that declares a range; the others have none, which is no fault."""
    ranged = [(index, plane) for index, plane in enumerate(planes) if plane.norm is not None]
    if not ranged:
        reason = "the contract declares no norm range; ranges that nobody measured are left out"
        return [Obstacle(reason, skips=True).finding(clause, subject)]
    if len(records) != len(planes):
        reason = f"{len(records)} planes came, {len(planes)} are declared: which range is whose cannot be told"
        return [Obstacle(reason, f"see {clause.stage}.plane-count").finding(clause, subject)]
    told = ", ".join(f"{plane.name} {record.norms.median:.3g}" for plane, record in zip(planes, records, strict=True))
    return [_judge_norm(clause, subject, plane, records[index], told) for index, plane in ranged]


def _judge_norm(clause: Clause, subject: str, plane: Plane, record: PlaneRecord, told: str) -> Finding:
    norm = plane.norm
    median = record.norms.median
    where = Where(plane=plane.name)
    if norm is None or math.isnan(median):
        hint = f"see {clause.stage}.finite"
        return Obstacle(f"plane {plane.name} has no finite row", hint, where).finding(clause, subject)
    low, high = norm.median
    inside = low <= median <= high
    return clause.find(
        Verdict.PASSED if inside else Verdict.FAILED,
        subject,
        observed=f"median norm of plane {plane.name} is {median:.3g} (maximum {record.norms.maximum:.3g})",
        expected=f"between {low:g} and {high:g} ({norm.origin})",
        where=where,
        measure=median,
        bound=low if median < low else high,
        hint=""
        if inside
        else f"median norms in the order found: {told}. A norm is a fingerprint and no proof: compare "
        "with the norms of neighbouring planes and ranges to see which plane this is",
    )


def record_plane(parts: Sequence[Array]) -> PlaneRecord:
    """Gather of one plane the statistics that dataset evidence holds, over several requests' rows [T, H]."""
    rows = np.concatenate(parts)
    places = np.concatenate([np.arange(len(part)) for part in parts])
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    return PlaneRecord(
        rows=len(rows),
        nonfinite=_tally(np.logical_not(finite), places),
        zero=_tally((rows == 0).all(axis=1), places),
        norms=QuantileSketch.of(np.linalg.norm(rows[finite].astype(np.float64), axis=1)),
    )


def _tally(marked: npt.NDArray[np.bool_], places: npt.NDArray[np.intp]) -> Tally:
    first = tuple(Where(token=int(place)) for place in places[marked][:5])
    return Tally(int(marked.sum()), first)
