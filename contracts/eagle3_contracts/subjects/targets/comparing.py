"""Holding captured or stored planes against a target: as much as its rung allows, the rest left out with a note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import Array, Table, TargetComparison
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets.distances import StateDistances
from eagle3_contracts.subjects.targets.parts import TokenIds, as_token_ids
from eagle3_contracts.subjects.targets.rebuilding import RebuiltLogits, choose_planes

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

Sample = tuple[TokenIds, Array]
"""Token ids, and their planes [P, T, H]."""

ROW_CAP = 512
"""Rows of one sample that are compared; longer samples are thinned evenly. The reference runs over all of them."""

_DEAD_CHANNEL = 1e-3
"""A channel whose final-norm weight is below this share of the median weight: dividing by it would measure noise."""


def compare_planes(
    target: Target,
    contract: Contract,
    samples: Iterable[Sample],
    *,
    declared: Sequence[Plane] | None = None,
    firsts: Sequence[int] = (),
) -> TargetComparison:
    """Hold the planes of samples against the target, pooled over all samples' tokens.

    ``declared``: what the planes are meant to be, in their order (default: ``storage.planes``); it decides only
    which planes have their logits rebuilt when rebuilding all would take long. ``firsts``: of each sample the first row
    to be compared, where the rows before it are judged elsewhere (default: all are compared). Samples that do not fit
    each other, the hidden size or the vocabulary are left out with a note.
    """
    planned = tuple(contract.stored_planes() if declared is None else declared)
    notes: list[str] = list(target.notes)
    pools = _Pools(target, contract, planned)
    for number, (token_ids, planes) in enumerate(samples):
        tokens = as_token_ids(token_ids)
        obstacle = _obstacle(contract, tokens, planes, pools.planes)
        if obstacle:
            notes.append(f"sample {number} was not compared: {obstacle}")
            continue
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # NaN and infinity: other clauses
            pools.add(tokens, planes, firsts[number] if firsts else 0)
    if pools.thinned:
        notes.append(f"{pools.thinned} samples are longer than {ROW_CAP} tokens: that many rows of each were compared")
    return pools.result(notes)


class _Pools:
    """Everything measured so far; ``planes`` is their number, None before the first sample."""

    def __init__(self, target: Target, contract: Contract, declared: tuple[Plane, ...]) -> None:
        self.target, self.contract, self.declared = target, contract, declared
        self.planes: int | None = None
        self.tokens = self.thinned = 0
        self.states = StateDistances() if "layers" in target.holds else None
        self.logits: RebuiltLogits | None = None
        self.embedding: list[Table] = []
        self.norm: list[Table] = []

    def add(self, tokens: npt.NDArray[np.int64], planes: Array, first: int = 0) -> None:
        """Measure one sample, from its row ``first`` on."""
        rows = thin(len(tokens) - first) + first
        self.thinned += len(rows) < len(tokens) - first
        self.tokens += len(rows)
        if self.planes is None:
            self.planes = len(planes)
            if {"norm", "head"} <= self.target.holds:
                chosen = choose_planes(self.contract, self.declared, len(planes), len(rows))
                self.logits = RebuiltLogits(self.target, chosen, self.contract.target.vocab_size)
        reference = self.target.reference(tokens) if self.states else None
        if self.states and reference:
            self.states.add(reference, planes, rows)
        if self.logits:
            self.logits.add(tokens, planes, reference, rows)
        if "embedding" in self.target.holds:
            own = self.target.embedding_rows(tokens[rows])
            self.embedding.append(np.stack([relative_l2(plane[rows], own) for plane in planes]))
        if self._has_norm_rms:
            self.norm.append(np.stack([_rms_by(plane[rows], self.target.norm_vector) for plane in planes]))

    @property
    def _has_norm_rms(self) -> bool:
        return "norm" in self.target.holds and self.contract.target.norm.kind == "rms"

    def result(self, notes: list[str]) -> TargetComparison:
        """Sum up; say in ``notes`` what the target could not give."""
        notes += self._gaps()
        return TargetComparison(
            rung=self.target.rung,
            tokens=self.tokens,
            states=self.states.result() if self.states and self.tokens else None,
            logits=self.logits.result() if self.logits else (),
            embedding_distance=_medians(self.embedding),
            norm_vector_rms=_medians(self.norm),
            notes=tuple(notes),
        )

    def _gaps(self) -> Iterator[str]:
        rung = self.target.rung
        if not self.tokens:
            yield "no sample was compared"
        if self.states is None:
            yield f"boundaries were not compared: the target at hand reaches the rung {rung!s} only"
        if not {"norm", "head"} <= self.target.holds:
            yield "no logits were rebuilt: that takes the final norm and the head"
        if "embedding" not in self.target.holds:
            yield "no embedding rows were compared: the target at hand has no embedding"
        if "norm" not in self.target.holds:
            yield "rows were not divided by the final norm's weight: the target at hand has none"
        elif not self._has_norm_rms:
            yield "rows were not divided by the final norm's weight: that tells nothing of a layer norm"


def thin(length: int, cap: int = ROW_CAP) -> npt.NDArray[np.int64]:
    """Give the rows to compare: all of them, or ``cap`` spread evenly, first and last included."""
    if length <= cap:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, cap).round().astype(np.int64))


def _obstacle(contract: Contract, tokens: npt.NDArray[np.int64], planes: Array, count: int | None) -> str:
    width, vocab = contract.target.hidden_size, contract.target.vocab_size
    if planes.ndim != 3 or planes.shape[1:] != (len(tokens), width):
        return f"planes of shape {list(planes.shape)} for {len(tokens)} tokens and hidden size {width}"
    if count is not None and len(planes) != count:
        return f"{len(planes)} planes where the samples before it have {count}"
    if not len(tokens):
        return "it has no tokens"
    if tokens.min() < 0 or tokens.max() >= vocab:
        return f"token ids {tokens.min()}..{tokens.max()} leave the vocabulary of {vocab}"
    return ""


def _rms_by(rows: Array, weight: Array) -> Table:
    """Give rms(row / weight) per row, over the channels that the weight does not silence."""
    alive = np.abs(weight) > _DEAD_CHANNEL * np.median(np.abs(weight))
    result: Table = np.sqrt(np.mean(np.square(rows[:, alive] / weight[alive].astype(np.float64)), axis=-1))
    return result


def _medians(pool: list[Table]) -> Table | None:
    """Give the median of each plane over all tokens; NaN, which a broken plane gives, is infinitely far."""
    if not pool:
        return None
    values = np.concatenate(pool, axis=-1)
    result: Table = np.median(np.where(np.isnan(values), np.inf, values), axis=-1)
    return result
