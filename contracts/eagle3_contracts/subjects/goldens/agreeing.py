"""Running the target again: how far the recorded states and logits are from what it computes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import (
    Array,
    GoldenEvidence,
    LogitAgreement,
    LogitForm,
    Problem,
    RecordedSequence,
    ReferenceStates,
    StateAgreement,
    Table,
    WorstRow,
)
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.goldens.kept import KeptLogits
from eagle3_contracts.subjects.goldens.tensors import Tensors, read_floats, read_logits
from eagle3_contracts.subjects.targets import open_target
from eagle3_contracts.subjects.targets.distances import candidates, find_sinks
from eagle3_contracts.subjects.targets.native import Route

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

PROBED_TOKENS = 1024
"""Tokens up to which sequences are run again, whole sequences, one of every dtype first; ``scan="full"`` runs all."""

_ELSEWHERE = 0.5
"""Share of its distance that another tensor must come within to be named as what a plane is."""


@dataclass(slots=True)
class _StatePool:
    """Distances of one dtype: per sequence [n+2, T] and the rows that are no sinks."""

    numbers: list[int] = field(default_factory=list)
    distances: list[Table] = field(default_factory=list)
    plain: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    nearest: list[str] = field(default_factory=list)


def open_reference(contract: Contract, folder: Path, options: Options, recorded: str) -> Target | Problem | None:
    """Open the target given, else the recording's own, by a route that did not record it; None if there is neither."""
    own = folder / "target"
    value = options.target or (str(own) if own.is_dir() else None)
    if value is None:
        return None
    route: Route = "torch" if recorded != "torch" and find_spec("torch") is not None else "numpy"
    try:
        return open_target(value, contract, route=route)
    except SubjectError as error:
        return Problem("target", f"{error.source}: {error.reason}", error.remedy)


def choose_sequences(sequences: Sequence[RecordedSequence], *, all_of_them: bool) -> list[RecordedSequence]:
    """Choose the sequences to run: one of every dtype, then in order, as long as they stay within the budget."""
    firsts = {item.dtype: item for item in reversed(sequences)}
    ordered = [*firsts.values(), *(item for item in sequences if item not in firsts.values())]
    chosen: list[RecordedSequence] = []
    tokens = 0
    for item in ordered:
        if all_of_them or tokens + len(item.token_ids) <= PROBED_TOKENS or not chosen:
            chosen.append(item)
            tokens += len(item.token_ids)
    return sorted(chosen, key=lambda item: item.number)


def hold_against_target(
    evidence: GoldenEvidence, states: Tensors, chosen: Sequence[RecordedSequence], target: Target
) -> GoldenEvidence:
    """Run the target over the chosen sequences and measure; what it does not hold leaves its part empty."""
    pools: dict[str, _StatePool] = {}
    logits = _LogitPools()
    for item in chosen:
        final = read_floats(states[f"{item.number}.final"])
        kept = read_logits(states, item.number)
        reference = target.reference(item.token_ids) if "layers" in target.holds else None
        if reference is not None:
            planes = np.concatenate([read_floats(states[f"{item.number}.boundaries"]), final[None]])
            pool = pools.setdefault(item.states["boundaries"].dtype, _StatePool())
            _add_states(pool, item.number, planes, reference)
            logits.add("target", item, kept, reference.logits)
        if "head" in target.holds:
            logits.add("state", item, kept, target.logits(final))
    return dataclasses.replace(
        evidence,
        compared=tuple(item.number for item in chosen),
        routes=(str(getattr(target, "route", "transformers")),) if "layers" in target.holds else (),
        states=tuple(_sum_up(dtype, pool) for dtype, pool in sorted(pools.items())),
        logits=tuple(logits.result()),
    )


def _add_states(pool: _StatePool, number: int, planes: Array, reference: ReferenceStates) -> None:
    own = np.concatenate([reference.boundaries, reference.final[None]])
    with np.errstate(invalid="ignore", over="ignore"):
        distances = np.stack([relative_l2(plane, state) for plane, state in zip(planes, own, strict=True)])
    distances = np.where(np.isnan(distances), np.inf, distances)
    pool.numbers.append(number)
    pool.distances.append(distances)
    pool.plain.append(~find_sinks(reference))
    named = [_name_nearest(plane, distances[at], reference) for at, plane in enumerate(planes)]
    pool.nearest = [before or now for before, now in zip(pool.nearest or [""] * len(planes), named, strict=True)]


def _name_nearest(plane: Array, own: Table, reference: ReferenceStates) -> str:
    """Name the tensor that a plane is far nearer to than to its own; empty if there is none."""
    middle = float(np.median(own))
    if middle < 1e-2:
        return ""
    best, name = middle, ""
    with np.errstate(invalid="ignore", over="ignore"):
        for candidate, states in candidates(reference):
            found = float(np.nan_to_num(np.median(relative_l2(plane, states)), nan=np.inf))
            if found < best:
                best, name = found, str(candidate)
    return name if best < _ELSEWHERE * middle else ""


def _sum_up(dtype: str, pool: _StatePool) -> StateAgreement:
    plain = [table[:, rows] for table, rows in zip(pool.distances, pool.plain, strict=True)]
    table = np.concatenate(plain, axis=-1)
    return StateAgreement(
        dtype=dtype,
        sequences=len(pool.numbers),
        tokens=table.shape[-1],
        sinks=sum(int((~rows).sum()) for rows in pool.plain),
        median=tuple(_median(row) for row in table),
        worst=tuple(_find_worst(pool, at) for at in range(len(table))),
        nearest=tuple(pool.nearest),
    )


def _find_worst(pool: _StatePool, plane: int) -> WorstRow:
    rows = [
        WorstRow(number, int(token), float(table[plane, token]))
        for number, table, plain in zip(pool.numbers, pool.distances, pool.plain, strict=True)
        for token in np.flatnonzero(plain)
    ]
    return max(rows, key=lambda row: row.value)


@dataclass(slots=True)
class _LogitPool:
    form: LogitForm
    dtypes: tuple[str, ...]
    rows: list[WorstRow] = field(default_factory=list)
    divergences: list[Table] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


class _LogitPools:
    """Differences of log-probability, by what the recorded ones are held against and by dtype."""

    def __init__(self) -> None:
        self._pools: dict[tuple[Literal["target", "state"], str, LogitForm], _LogitPool] = {}

    def add(self, against: Literal["target", "state"], item: RecordedSequence, kept: KeptLogits, logits: Array) -> None:
        """Measure one sequence."""
        stored = item.states["logits" if kept.form == "dense" else "top_logits"].dtype
        dtypes = (stored, item.states["final"].dtype) if against == "state" else (stored, "float32")
        pool = self._pools.setdefault((against, stored, kept.form), _LogitPool(kept.form, dtypes))
        gaps, divergences = kept.distances(logits)
        pool.rows += [WorstRow(item.number, token, float(gap)) for token, gap in enumerate(gaps)]
        pool.divergences.append(divergences)
        pool.numbers.append(item.number)

    def result(self) -> Iterator[LogitAgreement]:
        """Sum up each of them."""
        for (against, _, form), pool in sorted(self._pools.items()):
            yield LogitAgreement(
                against=against,
                form=form,
                dtypes=pool.dtypes,
                sequences=len(pool.numbers),
                tokens=len(pool.rows),
                logprob_max=_median(np.asarray([row.value for row in pool.rows])),
                worst=max(pool.rows, key=lambda row: row.value),
                kl=float(np.concatenate(pool.divergences).mean()),
            )


def _median(values: Table) -> float:
    """Give the median by nearest rank, infinities included."""
    return float(np.sort(values)[(len(values) - 1) // 2])
