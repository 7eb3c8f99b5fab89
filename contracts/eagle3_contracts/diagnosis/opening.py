"""Opening what a diagnosis needs from files: the drafter, captured samples, and as much of the target as there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.samples import DraftSample, sample_from_states
from eagle3_contracts.diagnosis.wiring import tap_of
from eagle3_contracts.drafter import ReferenceDrafter, WeightsError
from eagle3_contracts.evidence import Array
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.reading import Reading, open_source, read_dataset, read_sample
from eagle3_contracts.subjects.datasets.stored import Sample, UnreadableError, read_integers
from eagle3_contracts.subjects.targets import open_target

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.subjects.targets import Target

SAMPLES, SAMPLE_TOKENS = 64, 192
"""At most; every sample has one vote, so that many short ones say more than few long ones."""


@dataclass(frozen=True, slots=True)
class DraftSubjects:
    """The drafter's ``weights`` by canonical name, the ``samples``, and the ``target`` or None."""

    weights: dict[str, Tensor]
    samples: list[DraftSample]
    target: Target | None


def open_subjects(contract: Contract, checkpoint: Path, hidden_states: str, target: str | None) -> DraftSubjects:
    """Open everything. A whole target computes every boundary of the samples; without it the stored planes count.

    Raises ``SubjectError`` for a checkpoint that is not the contract's drafter, or samples that cannot be read.
    """
    opened = None if target is None else open_target(target, contract)
    weights = read_drafter(checkpoint, contract, None if target is None else Path(target))
    try:
        ReferenceDrafter(contract, weights)
    except WeightsError as error:
        remedy = "see checkpoint.*: eagle3-contracts check NAME --checkpoint DIR"
        if "which the target lends" in str(error):
            remedy = f"give the target, whose embedding the drafter uses: --target DIR; else {remedy}"
        raise SubjectError(str(checkpoint), f"does not make this contract's drafter: {error}", remedy=remedy) from None
    source = open_source("hidden states", hidden_states, contract, Options(sampled_files=SAMPLES))
    samples = list(_read_samples(read_dataset(source), contract, opened))
    if not samples:
        raise SubjectError(hidden_states, "holds no sample with token ids that can be used", remedy="see dataset.*")
    return DraftSubjects(weights, samples, opened)


def _read_samples(reading: Reading, contract: Contract, target: Target | None) -> Iterator[DraftSample]:
    if reading.format is None:
        problem = reading.evidence.problems[0] if reading.evidence.problems else None
        reason = problem.reason if problem else "its format is not known"
        raise SubjectError(
            str(reading.source.path), reason, remedy=problem.remedy if problem else "name it: FORMAT:DIR"
        )
    taps = tuple(tap_of(plane) for plane in contract.stored_planes(reading.format.id))
    for file, entry, _ in reading.samples[:SAMPLES]:
        try:
            sample = read_sample(open_file(file)[entry], reading)
        except UnreadableError:
            continue
        if sample.token_ids is not None:
            yield _make_sample(sample, taps, contract, target)


def _make_sample(sample: Sample, taps: tuple[Tap, ...], contract: Contract, target: Target | None) -> DraftSample:
    assert sample.token_ids is not None  # noqa: S101 (asked by the caller)
    ids = read_integers(sample.token_ids, "the token ids", Where(file=sample.place))[:SAMPLE_TOKENS]
    outside = int(((ids < 0) | (ids >= contract.target.vocab_size)).sum())
    if outside:
        reason = f"{sample.place} holds {outside} token ids outside the vocabulary"
        raise SubjectError(sample.place, reason, remedy="see dataset.token-ids")
    if target is not None and "layers" in target.holds:
        return sample_from_states(target.reference(ids))
    if len(sample.planes) != len(taps):
        reason = f"{len(sample.planes)} planes are stored, and the contract says {len(taps)}"
        raise SubjectError(sample.place, reason, remedy="see dataset.planes")
    rows = min(len(ids), *(plane.rows for plane in sample.planes))
    planes: dict[Tap, Array] = {tap: plane.read_float32(rows) for tap, plane in zip(taps, sample.planes, strict=True)}
    if target is not None and "embedding" in target.holds:
        planes[Tap(0)] = np.asarray(target.embedding_rows(ids[:rows]), np.float32)
    return DraftSample(ids[:rows], planes)
