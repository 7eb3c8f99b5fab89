"""A few samples held against the target: their planes against its states, and whether the states are their own.

Re-capture: the target computes the states of a probe's token ids, and the probe's planes are held against every
boundary at any shift. Planes that are near none of them belong to other tokens; if they are near the states of
another probe's tokens, two samples were swapped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, DatasetEvidence, Problem, ReferenceStates, Stranger
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.reading import Reading, read_sample
from eagle3_contracts.subjects.datasets.sampling import pick_probes
from eagle3_contracts.subjects.datasets.stored import FLOAT8, Sample, UnreadableError, read_integers

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target, TokenIds

PROBE_TOKENS = 512
"""Tokens of a probe that are held against the target: its beginning, whose states do not depend on the rest."""

ENOUGH_TOKENS = 64
"""Samples of at least so many tokens are preferred as probes."""

STRANGE = 0.5
"""Smallest median relative L2 from any boundary from which states are not those of their tokens.

Measured on SmolLM2-135M, four passages of 78 to 135 tokens: states of another passage are at least 0.72 from all
boundaries and branches at every shift, a correct plane at most 0.0145 (bfloat16).
"""

_LEAST_OWN = 8
"""Rows behind a shared beginning below which the whole probe is compared."""

_REMEMBERED = 1 << 28
"""Numbers of reference states that are kept at once, 1 GB; larger targets compute a probe's states anew."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One sample held against the target: where it lies, its token ids [T], its planes [P, T, H]."""

    where: Where
    token_ids: npt.NDArray[np.int64]
    planes: Array


class RememberingTarget:
    """A target that keeps the states it computed, since a probe's are asked for more than once."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._known: dict[bytes, ReferenceStates] = {}
        self._held = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def reference(self, token_ids: TokenIds) -> ReferenceStates:
        """Give the states of one sequence, computed once."""
        key = np.asarray(token_ids, dtype=np.int64).tobytes()
        if key not in self._known:
            states = self._target.reference(token_ids)
            arrays = (states.boundaries, states.final, states.logits, states.branches)
            size = sum(array.size for array in arrays if array is not None)
            if self._held + size > _REMEMBERED:
                return states
            self._held += size
            self._known[key] = states
        return self._known[key]


def hold_against_target(reading: Reading, contract: Contract) -> DatasetEvidence:
    """Give the evidence with what the target says of it; what stands in the way is a problem of kind ``target``."""
    evidence, options = reading.evidence, reading.source.options
    if options.target is None or reading.format is None or not reading.samples:
        return evidence
    if options.scan == "headers":
        reason = "headers alone were read, so that nothing was held against the target"
        return _with_problem(evidence, reason, "scan with values: --contract-scan sample, or full")
    try:
        probes = _read_probes(reading)
    except UnreadableError as error:
        return _with_problem(evidence, error.problem.reason, error.problem.remedy, error.problem.where)
    if not probes:
        reason = "no sample holds token ids of the target's vocabulary and planes of one width, to compute again"
        return _with_problem(evidence, reason, "see dataset.token-ids, dataset.width and dataset.rows")
    from eagle3_contracts.subjects.targets import open_target
    from eagle3_contracts.subjects.targets.comparing import compare_planes

    try:
        target = cast("Target", RememberingTarget(open_target(options.target, contract)))
        samples = [(probe.token_ids, probe.planes) for probe in probes]
        declared = contract.stored_planes(reading.format.id)
        comparison = compare_planes(target, contract, samples, declared=declared)
        full = comparison.states is not None
        strangers = tuple(find_strangers(target, probes)) if full else ()
    except SubjectError as error:
        return _with_problem(evidence, f"{error.source}: {error.reason}", error.remedy)
    return dataclasses.replace(
        evidence, comparison=comparison, recaptured=len(probes) if full else 0, strangers=strangers
    )


def find_strangers(target: Target, probes: Sequence[Probe]) -> Iterator[Stranger]:
    """Yield the probes whose planes are near no state of their own tokens, and whose states they are instead."""
    for probe in probes:
        others = [other for other in probes if other is not probe]
        start = skip_shared(probe, others)
        distance = nearest_distance(target, probe.token_ids, probe, start)
        if distance < STRANGE:
            continue
        tried = [(nearest_distance(target, other.token_ids, probe, start), other) for other in others]
        near = min(tried, key=lambda pair: pair[0], default=None)
        match = near[1].where if near and near[0] < STRANGE else None
        yield Stranger(probe.where, distance, match)


def skip_shared(probe: Probe, others: Sequence[Probe]) -> int:
    """Give the row from which a probe's tokens are its own: behind the beginning that it shares with another.

    Samples that begin with one system prompt have the same states there. 0 if too few rows would be left.
    """
    shared = 0
    for other in others:
        size = min(len(probe.token_ids), len(other.token_ids))
        unequal = np.flatnonzero(probe.token_ids[:size] != other.token_ids[:size])
        shared = max(shared, int(unequal[0]) if unequal.size else size)
    return shared if len(probe.token_ids) - shared >= _LEAST_OWN else 0


def nearest_distance(target: Target, token_ids: npt.NDArray[np.int64], probe: Probe, start: int = 0) -> float:
    """Give the smallest median relative L2 of any plane from any of the target's states of these tokens, at any shift.

    The rows from ``start`` to the shorter of both lengths are compared; a median over no row counts as infinitely far.
    """
    from eagle3_contracts.subjects.targets.distances import StateDistances

    size = min(len(token_ids), probe.planes.shape[1])
    states = StateDistances()
    if size <= start:
        return float("inf")
    states.add(target.reference(token_ids[:size]), probe.planes[:, :size], np.arange(start, size))
    medians = states.result().median
    return float(np.where(np.isnan(medians), np.inf, medians).min())


def _read_probes(reading: Reading) -> list[Probe]:
    """Read the samples to hold against the target, long ones preferred, those that can be compared only."""
    options, contract = reading.source.options, reading.source.contract
    lengths = [length for _, _, length in reading.samples]
    probes = []
    for index in pick_probes(lengths, options.probes, options.seed, ENOUGH_TOKENS):
        file, entry, _ = reading.samples[index]
        sample = read_sample(open_file(file)[entry], reading)
        probe = _make_probe(sample, contract.target.vocab_size if contract else None)
        if probe is not None:
            probes.append(probe)
    return probes


def _make_probe(sample: Sample, vocabulary: int | None) -> Probe | None:
    """Make a probe; None if the sample has no token ids of the vocabulary, or planes that do not stack."""
    if sample.token_ids is None or sample.token_ids.bits.ndim != 1 or not sample.planes:
        return None
    where = Where(file=sample.place)
    if any(plane.dtype in FLOAT8 and plane.scales is None for plane in sample.planes):
        reason = "the states are 8-bit without their scales, so that their values are not known"
        raise UnreadableError("target", reason, "see dataset.scales", where)
    if len({plane.width for plane in sample.planes}) != 1:
        return None
    ids = read_integers(sample.token_ids, "the token ids", where)
    size = min(len(ids), PROBE_TOKENS, *(plane.rows for plane in sample.planes))
    ids = ids[:size]
    if not size or ids.min() < 0 or (vocabulary is not None and ids.max() >= vocabulary):
        return None
    return Probe(where, ids, np.stack([plane.read_float32(size) for plane in sample.planes]))


def _with_problem(evidence: DatasetEvidence, reason: str, remedy: str, where: Where | None = None) -> DatasetEvidence:
    problem = Problem("target", reason, remedy, where or Where())
    return dataclasses.replace(evidence, problems=(*evidence.problems, problem))
