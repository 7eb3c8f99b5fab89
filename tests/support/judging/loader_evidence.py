"""Evidence of a sound loader of the toy target, to be changed in one place at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from eagle3_contracts.evidence import BAD, ZEROS, LoadedRows, LoaderEvidence, LoaderRun, Sentinel

LENGTHS = (13, 9, 17, 6)
STORED = ("low", "mid", "high", "final")
FED = 3
PADDING = 3
LEFT_OUT = "UserWarning: data_1.pt is left out"

_MASK = (1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0)


def samples(lengths: Sequence[int] = LENGTHS) -> tuple[Sentinel, ...]:
    """Give samples of counting tokens; of the one that is spoiled all rows count."""
    starts = np.cumsum([0, *lengths[:-1]])
    return tuple(
        Sentinel(
            tuple(range(int(start), int(start) + length)),
            tuple(1 if number == BAD else _MASK[(step + 4 * number) % 15] for step in range(length)),
        )
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
    )


def rows(written: Sequence[Sentinel] | None = None, *, without: int | None = None, **changes: Any) -> LoadedRows:
    """Give the rows of samples packed into one sequence, tokens and targets shifted by one, and padding after them."""
    chosen = [(number, sample) for number, sample in enumerate(written or samples()) if number != without]
    places = [(number, at) for number, sample in chosen for at in range(sample.length - 1)]
    whole = dict(chosen)
    sample = np.array([number for number, _ in places])
    position = np.array([at for _, at in places])
    found = LoadedRows(
        sample=_padded(np.repeat(sample[:, None], FED + 1, axis=1), ZEROS),
        plane=_padded(np.tile(np.arange(FED + 1), (len(places), 1)), ZEROS),
        position=_padded(np.stack([position] * FED + [position + 1], axis=1), ZEROS),
        tokens=_padded(np.array([whole[number].tokens[at + 1] for number, at in places]), 0),
        trained=_padded(np.array([whole[number].mask[at + 1] for number, at in places]), 0).astype(bool),
        documents=_padded(sample, -1),
        batch=np.zeros(len(places) + PADDING, int),
        place=np.arange(len(places) + PADDING),
        amplitude=np.ones(FED + 1),
        fc_dtype="bfloat16",
        last_dtype="bfloat16",
        positions=_padded(position, 0),
    )
    return dataclasses.replace(found, **changes)


def _padded(values: Any, fill: int) -> Any:
    return np.concatenate([values, np.full((PADDING, *values.shape[1:]), fill)])


def run(**changes: Any) -> LoaderRun:
    """Give the run over the sound dataset."""
    return dataclasses.replace(LoaderRun(samples(), rows()), **changes)


def left_out(**changes: Any) -> LoaderRun:
    """Give a run in which the bad sample is left out with a word."""
    return dataclasses.replace(LoaderRun(samples(), rows(without=BAD), reports=(LEFT_OUT,)), **changes)


def overlong(**changes: Any) -> LoaderRun:
    """Give a run over a sample of 25 tokens, of which a loader of 18 rows keeps 17."""
    written = samples((13, 25, 17, 6))
    found = rows(written)
    keep = (found.sample[:, 0] != BAD) | (found.position[:, 0] < 17)
    return dataclasses.replace(LoaderRun(written, take(found, keep)), **changes)


def with_ends(**changes: Any) -> LoadedRows:
    """Give rows that end every sample with one that has no token or final state beside it, as SpecForge's do."""
    found = rows()
    last = np.array([int(np.flatnonzero(found.sample[:, 0] == number)[-1]) for number in range(len(LENGTHS))])
    order = np.sort(np.concatenate([np.arange(len(found)), last]), kind="stable")
    whole = take(found, order)
    ends = np.flatnonzero(np.diff(order, prepend=-1) == 0)
    for values, fill in ((whole.tokens, 0), (whole.trained, False)):
        values[ends] = fill
    whole.position[ends, :FED] += 1
    for codes in (whole.sample, whole.plane, whole.position):
        codes[ends, FED] = ZEROS
    assert whole.positions is not None
    whole.positions[ends] += 1
    whole.place[:] = np.arange(len(whole))
    return dataclasses.replace(whole, **changes)


def take(found: LoadedRows, keep: Any) -> LoadedRows:
    """Give some of the rows."""
    names = ("sample", "plane", "position", "tokens", "trained", "documents", "batch", "place", "positions")
    return dataclasses.replace(found, **{name: getattr(found, name)[keep] for name in names})


def sound_loader(*, sound: LoaderRun | None = None, runs: dict[str, LoaderRun] | None = None, **changes: Any) -> Any:
    """Give the evidence of a loader in which nothing is wrong; ``runs`` replace those of their names."""
    told = {name: left_out() for name in ("nonfinite", "row-missing", "row-surplus", "foreign", "corrupt", "missing")}
    evidence = LoaderEvidence(
        "toy.py:factory",
        format="speculators-arrow",
        stored=STORED,
        stored_dtype="bfloat16",
        max_length=18,
        runs={"sound": sound or run(), "overlong": overlong(), **told, **(runs or {})},
    )
    return dataclasses.replace(evidence, **changes)


def edited(**changes: Any) -> LoaderEvidence:
    """Give evidence whose sound run has other rows: each change is an array, or a function of the array there was."""
    found = rows()
    values = {name: change(getattr(found, name)) if callable(change) else change for name, change in changes.items()}
    evidence: LoaderEvidence = sound_loader(sound=run(rows=dataclasses.replace(found, **values)))
    return evidence
