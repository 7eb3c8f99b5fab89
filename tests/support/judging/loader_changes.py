"""Evidence of loaders that go wrong in one way, and of some that only look so."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.evidence import BAD, NOT_FINITE, STRANGE, ZEROS, LoaderEvidence, LoaderRun, Problem
from support.judging.documents import toy_contract
from support.judging.loader_evidence import (
    edited,
    overlong,
    rows,
    run,
    samples,
    sound_loader,
    take,
    with_ends,
)

NEEDS = sound_loader(runs={}, problems=(Problem("needs", "writing states needs torch", "pip install torch"),))
ABSENT = dataclasses.replace(NEEDS, runs={})
CRASHED = sound_loader(
    runs={}, problems=(Problem("crashed", "the factory raised KeyError: 'planes'", "mend the code under test"),)
)
BROKEN = dataclasses.replace(CRASHED, runs={})
RAISES = sound_loader(sound=run(rows=None, refusal="AttributeError: no attribute 'start_file_idx'"))
UNKNOWN = dataclasses.replace(
    ABSENT, problems=(Problem("unsupported", "no samples can be written in the format 'mine'", "give Loader(write=)"),)
)
EMBEDDED = sound_loader(stored=("embed", "low", "mid", "high"))


def bad(scenario: str, outcome: LoaderRun) -> LoaderEvidence:
    """Give evidence with one outcome for one scenario."""
    evidence: LoaderEvidence = sound_loader(runs={scenario: outcome})
    return evidence


def moved(by: int) -> LoaderRun:
    """Give a run in which the states of the bad sample, and of all after it, are moved against their tokens."""
    found = rows()
    late = found.sample[:, 0] >= BAD
    position = np.where(late[:, None], np.roll(found.position, by, axis=0), found.position)
    sample = np.where(late[:, None], np.roll(found.sample, by, axis=0), found.sample)
    return run(rows=dataclasses.replace(found, sample=sample, position=position))


def infected(*, trained: bool = True) -> LoaderRun:
    """Give a run in which rows of the bad sample hold NaN."""
    found = rows()
    sick = (found.sample[:, 0] == BAD) & (found.position[:, 0] > 5)
    sample = np.where(sick[:, None], NOT_FINITE, found.sample)
    return run(rows=dataclasses.replace(found, sample=sample, trained=found.trained & (trained | ~sick)))


def replaced() -> LoaderRun:
    """Give a run in which the first sample stands in the bad one's place."""
    found = rows(without=BAD)
    again = np.flatnonzero(found.sample[:, 0] == 0)
    both = take(found, np.concatenate([np.arange(len(found)), again]))
    return run(rows=both, reports=("printed: ERROR Failed to load data_1.ckpt",))


def padded_mask(trained: Any) -> Any:
    """Count padding rows too."""
    return trained | (np.arange(len(trained)) >= len(trained) - 2)


def mask_at(shift: int) -> Any:
    """Give l[t + shift] for every row, and zeros for padding."""
    found, written = rows(), samples()
    pairs = zip(found.sample[:, 0], found.position[:, 0] + shift, strict=True)
    return np.array([sample >= 0 and at < written[sample].length and written[sample].mask[at] for sample, at in pairs])


def first_column(values: Any, by: int) -> Any:
    """Move the first plane against the others."""
    return np.column_stack([values[:, :1] + by * (values[:, :1] >= 0), values[:, 1:]])


def cut_in_front() -> LoaderRun:
    """Give a run that keeps the first tokens and the last states of a sample that is too long."""
    whole = overlong().rows
    assert whole is not None
    own = whole.sample == BAD
    return overlong(rows=dataclasses.replace(whole, position=whole.position + 7 * own))


def without(scenario: str) -> LoaderEvidence:
    """Give evidence in which a scenario does not apply."""
    evidence = sound_loader()
    runs = {name: found for name, found in evidence.runs.items() if name != scenario}
    told: LoaderEvidence = dataclasses.replace(evidence, runs=runs, skipped={scenario: "files keep token ids once"})
    return told


def ends(**changes: Any) -> LoaderEvidence:
    """Give evidence whose sound run has a row without a successor at the end of every sample."""
    evidence: LoaderEvidence = sound_loader(sound=run(rows=with_ends(**changes)))
    return evidence


def end_trained() -> LoaderEvidence:
    """Train the last of these rows."""
    found = with_ends()
    last = (found.sample[:, 0] >= 0) & (found.sample[:, -1] == ZEROS)
    return ends(trained=found.trained | last)


def overlong_alone() -> LoaderRun:
    """Give the run over a sample that is too long, of a loader without a last hidden state."""
    whole = overlong().rows
    assert whole is not None
    sample = np.column_stack([whole.sample[:, :3], np.full(len(whole), STRANGE)])
    return overlong(rows=dataclasses.replace(whole, sample=sample, last_dtype=None))


WIDE = toy_contract(alignment={"token": [0, 1], "target": [0, 1], "loss_mask": [0, 1], "position": [0, 1]})
ONE = toy_contract("low", "final")

VOCABULARY = np.arange(64) < 32
TARGETS = np.concatenate([rows().tokens[1:], [0]])
TARGETS[3:5] = (-1, 64)
KNOWN = edited(targets=TARGETS, vocabulary=VOCABULARY)
FILTERED = edited(
    targets=TARGETS, vocabulary=VOCABULARY, trained=lambda trained: trained & (TARGETS >= 0) & (TARGETS < 32)
)
