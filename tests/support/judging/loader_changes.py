"""Evidence of loaders that go wrong in one way, and of some that only look so."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from eagle3_contracts.evidence import (
    BAD,
    NOT_FINITE,
    STRANGE,
    ZEROS,
    LoadedRows,
    LoaderEvidence,
    LoaderRun,
    Problem,
    Sentinel,
)
from support.judging.documents import toy_contract
from support.judging.loader_evidence import (
    STORED,
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


def infected(*, trained: bool = True, **changes: Any) -> LoaderRun:
    """Give a run in which rows of the bad sample hold NaN."""
    found = rows(**changes)
    sick = (found.sample[:, 0] == BAD) & (found.position[:, 0] > 5)
    sample = np.where(sick[:, None], NOT_FINITE, found.sample)
    return run(rows=dataclasses.replace(found, sample=sample, trained=found.trained & (trained | ~sick)))


def replaced(reports: tuple[str, ...] = ("printed: ERROR Failed to load data_1.ckpt",)) -> LoaderRun:
    """Give a run in which the first sample stands in the bad one's place."""
    found = rows(without=BAD)
    again = np.flatnonzero(found.sample[:, 0] == 0)
    both = take(found, np.concatenate([np.arange(len(found)), again]))
    return run(rows=both, reports=reports)


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


STRAY, SHARED = 63, 0
"""A token of no sample, and the first one's first."""


def fed(*columns: int, stored: Sequence[str] = STORED) -> LoaderEvidence:
    """Give a loader that feeds some planes, the last of them as the last hidden state."""
    found, chosen = rows(), list(columns)
    codes = {name: getattr(found, name)[:, chosen] for name in ("sample", "plane", "position")}
    changed = dataclasses.replace(found, amplitude=np.ones(len(chosen)), **codes)
    told: LoaderEvidence = sound_loader(sound=run(rows=changed), stored=tuple(stored))
    return told


def unshifted(found: LoadedRows, written: Sequence[Sentinel], *, final: bool = True) -> LoadedRows:
    """Give rows that have x[t] beside state t; ``final``: with a final state, else of a loader that gives none."""
    kept = np.flatnonzero(found.sample[:, 0] >= 0)
    tokens = found.tokens.copy()
    tokens[kept] = [written[found.sample[row, 0]].tokens[found.position[row, 0]] for row in kept]
    sample = found.sample if final else np.column_stack([found.sample[:, :3], np.full(len(found), STRANGE)])
    return dataclasses.replace(found, tokens=tokens, sample=sample, last_dtype="bfloat16" if final else None)


def torn(*, fours: bool = False) -> LoaderEvidence:
    """Give rows whose three planes are of three tokens; ``fours``: of four planes, two of each token."""
    found = rows()
    steps = np.array([0, 0, 1, 1] if fours else [0, 1, 2])
    columns = [0, 1, 2, 2, 3] if fours else [0, 1, 2, 3]
    codes = {name: getattr(found, name)[:, columns] for name in ("sample", "plane", "position")}
    stored = codes["sample"][:, :-1] >= 0
    codes["position"][:, :-1] += np.where(stored, steps, 0)
    changed = dataclasses.replace(found, amplitude=np.ones(len(columns)), **codes)
    told: LoaderEvidence = sound_loader(sound=run(rows=changed))
    return told


def mixed(tokens: Any = None) -> LoaderRun:
    """Give a run in which the planes of the bad sample are of three tokens: its own tokens alone tell whose it is."""
    found = rows()
    own = found.sample[:, 0] == BAD
    position = found.position + np.where(own[:, None], [0, 1, 2, 0], 0)
    own_tokens = found.tokens if tokens is None else np.where(own, tokens, found.tokens)
    return run(rows=dataclasses.replace(found, position=position, tokens=own_tokens))


def shared() -> LoaderRun:
    """Give that run, with a token beside all its rows that another sample has as well."""
    written = list(samples())
    written[BAD] = dataclasses.replace(written[BAD], tokens=(SHARED, *written[BAD].tokens[1:]))
    return dataclasses.replace(mixed(SHARED), samples=tuple(written))


def repeating() -> LoaderEvidence:
    """Give samples of one token each, beside which every shift holds."""
    written = tuple(dataclasses.replace(item, tokens=(at + 1,) * item.length) for at, item in enumerate(samples()))
    told: LoaderEvidence = sound_loader(sound=LoaderRun(written, rows(written)))
    return told


def all_counted() -> LoaderEvidence:
    """Give samples in which every token counts, without their first rows: several shifts of the mask fit."""
    written = tuple(dataclasses.replace(item, mask=(1,) * item.length) for item in samples())
    found = rows(written)
    told: LoaderEvidence = sound_loader(sound=LoaderRun(written, take(found, found.position[:, 0] != 0)))
    return told


def shifted(by: int) -> Any:
    """Give x[t + by] beside every state t that has it."""
    found, written = rows(), samples()
    pairs = zip(found.sample[:, 0], found.position[:, 0] + by, strict=True)
    return np.array(
        [written[sample].tokens[at] if sample >= 0 and at < written[sample].length else 63 for sample, at in pairs]
    )


def again(number: int, document: int, *, part: slice = slice(None)) -> LoadedRows:
    """Give the sound rows with those of one sample once more, in a document of its own."""
    found = rows()
    own = np.flatnonzero(found.sample[:, 0] == number)[part]
    whole = take(found, np.concatenate([np.arange(len(found)), own]))
    whole.documents[len(found) :] = document
    return whole


def at_row(row: int, **values: Any) -> LoaderEvidence:
    """Give the sound run with one row changed."""
    found = rows()
    for name, value in values.items():
        getattr(found, name)[row] = value
    told: LoaderEvidence = sound_loader(sound=run(rows=found))
    return told


def untried(scenario: str) -> LoaderEvidence:
    """Give evidence without a scenario, and no word why."""
    found: LoaderEvidence = sound_loader()
    return dataclasses.replace(found, runs={name: told for name, told in found.runs.items() if name != scenario})


def in_batches(count: int) -> LoaderEvidence:
    """Give the sound rows in so many batches."""
    told: LoaderEvidence = edited(batch=np.arange(len(rows())) * count // len(rows()))
    return told


WIDE = toy_contract(alignment={"token": [0, 1], "target": [0, 1], "loss_mask": [0, 1], "position": [0, 1]})
ONE = toy_contract("low", "final")

VOCABULARY = np.arange(64) < 32
TARGETS = np.concatenate([rows().tokens[1:], [0]])
TARGETS[3:5] = (-1, 64)
KNOWN = edited(targets=TARGETS, vocabulary=VOCABULARY)
FILTERED = edited(
    targets=TARGETS, vocabulary=VOCABULARY, trained=lambda trained: trained & (TARGETS >= 0) & (TARGETS < 32)
)
