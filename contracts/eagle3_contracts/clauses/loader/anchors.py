"""Which stored row each loaded row is: by its planes, and where those say nothing by its token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eagle3_contracts.evidence import STRANGE, Codes, Flags, LoadedRows, LoaderRun, Sentinel

REACH = 4
"""Shifts that are looked for: a token that is farther off is another's."""

_ROOM = 1 << 16
"""More positions than a sample has."""

ELSEWHERE = 1 << 20
"""The shift of a row whose token, state or mask is none of its sample's near by."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """The row t of sample s that the planes of each loaded row are.

    ``sample`` and ``position`` [R]: of more than half of the planes in fc's input, negative where there is no such row.
    ``torn`` [R]: the planes are rows of different tokens or samples. ``by_token`` [R]: the sample that the row's
    token belongs to, -1 for none or several.
    """

    sample: Codes
    position: Codes
    torn: Flags
    by_token: Codes

    @property
    def placed(self) -> Flags:
        """Rows whose planes are one stored row."""
        placed: Flags = self.sample >= 0
        return placed

    def belongs_to(self, sample: int) -> Flags:
        """Rows of a sample: by their planes, or if those say nothing by their token."""
        owned: Flags = (self.sample == sample) | ((self.sample < 0) & (self.by_token == sample))
        return owned


def find_anchors(rows: LoadedRows, samples: Sequence[Sentinel]) -> Anchors:
    """Anchor every row."""
    fed_sample, fed_position = rows.sample[:, : rows.fed], rows.position[:, : rows.fed]
    stored = fed_sample >= 0
    places = np.where(stored, fed_sample * _ROOM + fed_position, fed_sample)
    votes = (places[:, :, None] == places[:, None, :]).sum(axis=2)
    winner = votes.argmax(axis=1)
    every = np.arange(len(rows))
    chosen = places[every, winner]
    sure = (votes[every, winner] * 2 > rows.fed) & (chosen >= 0)
    return Anchors(
        sample=np.where(sure, chosen // _ROOM, STRANGE),
        position=np.where(sure, chosen % _ROOM, STRANGE),
        torn=(stored & (places != np.where(stored, places, -1).max(axis=1)[:, None])).any(axis=1),
        by_token=_own_tokens(rows.tokens, samples),
    )


def _own_tokens(tokens: Codes, samples: Sequence[Sentinel]) -> Codes:
    owners: dict[int, int] = {}
    for number, sample in enumerate(samples):
        for token in sample.tokens:
            owners[token] = number if owners.get(token, number) == number else -1
    return np.array([owners.get(int(token), -1) for token in tokens], dtype=np.int64)


def token_shifts(rows: LoadedRows, anchors: Anchors, samples: Sequence[Sentinel], expected: int) -> Codes:
    """Give o where the token of row t is x[t + o], the o nearest to ``expected``; ``ELSEWHERE`` for none."""
    order = sorted(range(-REACH, REACH + 1), key=lambda shift: (abs(shift - expected), shift))
    found = np.full(len(rows), ELSEWHERE)
    for row in np.flatnonzero(anchors.placed):
        own, at = samples[anchors.sample[row]].tokens, int(anchors.position[row])
        shifts = (shift for shift in order if 0 <= at + shift < len(own) and own[at + shift] == rows.tokens[row])
        found[row] = next(shifts, ELSEWHERE)
    return found


def target_shifts(rows: LoadedRows, anchors: Anchors) -> Codes:
    """Give o where the last hidden state of row t is y[t + o] of the same sample; ``ELSEWHERE`` for none."""
    sample, position = rows.sample[:, -1], rows.position[:, -1]
    own = anchors.placed & (sample == anchors.sample)
    shifts: Codes = np.where(own, position - anchors.position, ELSEWHERE)
    return shifts


def lengths_of(anchors: Anchors, samples: Sequence[Sentinel]) -> Codes:
    """Give the length of each row's sample, 0 for rows of none."""
    lengths = np.array([sample.length for sample in samples])
    found = np.zeros(len(anchors.sample), np.int64)
    found[anchors.placed] = lengths[anchors.sample[anchors.placed]]
    return found


def row_keys(run: LoaderRun) -> list[tuple[int, ...]]:
    """Give for every row what it is: its sample and position, its token, and the same of every block of its states."""
    if run.rows is None:
        return []
    rows = run.rows
    anchors = find_anchors(rows, run.samples)
    whole = np.column_stack((anchors.sample, anchors.position, rows.tokens, rows.sample, rows.position))
    return [tuple(key) for key in whole.tolist()]


def name_row(rows: LoadedRows, row: int) -> str:
    """Name a row by where it stands: ``batch 0, row 12``."""
    return f"batch {int(rows.batch[row])}, row {int(rows.place[row])}"
