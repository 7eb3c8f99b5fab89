"""Sizes of faults of the rows that a server returns."""

from __future__ import annotations

import dataclasses

import numpy as np

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence import Array
from eagle3_contracts.evidence.server import ServedAnswer, ServerEvidence
from support.museum.sensitivity.served import get_answer, in_answers, replace_answer, server_size
from support.museum.sensitivity.size import Size, pick, stir_array

SEVERAL = 3
FIRST_TOLD_APART = 4
"""Row from which no two of the recorded prompts have their beginning in common."""


def _noise(answer: ServedAnswer, share: float, draw: int) -> ServedAnswer:
    return dataclasses.replace(answer, rows=_stir_planes(_rows_of(answer), share, draw))


def _noise_later(answer: ServedAnswer, share: float, draw: int) -> ServedAnswer:
    assert answer.later_rows is not None
    return dataclasses.replace(answer, later_rows=_stir_planes(answer.later_rows, share, draw))


def _noise_row(answer: ServedAnswer, share: float, draw: int) -> ServedAnswer:
    """Spoil one row of an answer of several, of which the median does not see it."""
    rows = _rows_of(answer).copy()
    if len(rows) < SEVERAL:
        return answer
    at = pick(len(rows), 1, draw)
    rows[at] = _stir_planes(rows[at], share, draw)
    return dataclasses.replace(answer, rows=rows)


def _rows_of(answer: ServedAnswer) -> Array:
    assert answer.rows is not None
    return answer.rows


def _stir_planes(rows: Array, share: float, draw: int) -> Array:
    """Add noise to each plane of rows [T, planes x H]."""
    hidden = load_contract(CONTRACT).target.hidden_size
    return stir_array(rows.reshape(len(rows), -1, hidden), share, draw).reshape(rows.shape)


def _shift_rows(evidence: ServerEvidence, count: float, draw: int) -> ServerEvidence:
    """Put the next token's row into so many places of all prompts."""
    sound = [_rows_of(get_answer(probe, "alone")) for probe in evidence.probes]
    tables = [table.copy() for table in sound]
    places = [(at, row) for at, table in enumerate(tables) for row in range(len(table) - 1)]
    for at, row in (places[place] for place in pick(len(places), count, draw)):
        tables[at][row] = sound[at][row + 1]
    return _with_rows(evidence, tables)


def _lend_rows(evidence: ServerEvidence, count: float, draw: int) -> ServerEvidence:
    """Put so many rows of the longest prompt into the next longest one."""
    tables = [_rows_of(get_answer(probe, "alone")).copy() for probe in evidence.probes]
    lender, borrower = sorted(tables, key=lambda table: -len(table))[:2]
    rows = [FIRST_TOLD_APART + row for row in pick(len(borrower) - FIRST_TOLD_APART, count, draw)]
    borrower[rows] = lender[rows]
    return _with_rows(evidence, tables)


def _with_rows(evidence: ServerEvidence, tables: list[Array]) -> ServerEvidence:
    probes = tuple(
        replace_answer(
            probe, "alone", dataclasses.replace(get_answer(probe, "alone"), rows=np.ascontiguousarray(table))
        )
        for probe, table in zip(evidence.probes, tables, strict=True)
    )
    return dataclasses.replace(evidence, probes=probes)


_NOISE, _LATER = in_answers(_noise), in_answers(_noise_later)
_BATCH, _BATCH_ROW = in_answers(_noise, "batched"), in_answers(_noise_row, "batched")
_AGAIN, _AGAIN_ROW = in_answers(_noise, "repeated"), in_answers(_noise_row, "repeated")

SERVER_ROW_SIZES: tuple[Size, ...] = (
    server_size("noise on every plane, share of each row's norm", "boundary", _NOISE, 0.1),
    server_size("noise on every plane of a server in float32", "boundary", _NOISE, 0.0005, dtype="float32"),
    server_size("noise on rows of generated tokens alone", "boundary", _LATER, 0.1),
    server_size("rows of 247 that are the next token's", "token-shift", _shift_rows, 40, whole=True),
    server_size("noise on the rows of a server without drafter", "final-state", _NOISE, 0.1, role="plain"),
    server_size("rows of one prompt that are another's", "own-request", _lend_rows, 8, whole=True),
    server_size("noise on every plane in a batch", "batch", _BATCH, 0.1),
    server_size("noise on one row of every request in a batch", "batch", _BATCH_ROW, 1.0),
    server_size("noise on every plane the second time", "repeats", _AGAIN, 0.1),
    server_size("noise on one row of every request the second time", "repeats", _AGAIN_ROW, 1.0),
)
