"""Scoring a hypothesis: how likely the drafter holds the token that it should predict, at every row of some samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.samples import DraftSample, Tokens
from eagle3_contracts.diagnosis.wiring import Hypothesis, Prediction, Wiring, apply_wiring
from eagle3_contracts.drafter import ReferenceDrafter

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.boundaries import Tap

BEYOND = 2
"""Rows at a sample's end that are left out, so that every shift is scored on the same rows."""
FLOOR_SHARE = 0.01
"""Probability spread evenly over the vocabulary, so that a token outside the draft vocabulary has a likelihood too."""
SHARPNESS = (0.35, 0.5, 0.7, 1.0, 1.4)
"""Factors on the logits of which the best one is taken: a drafter that is too sure of itself, as after many epochs on
the same samples, gains by any wiring that blurs it, and that is no sign of a wrong one."""
_PACKED_ROWS = 320

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """What one hypothesis reaches on one half, by row: ``gain`` and ``likelihood`` (nats), ``correct`` (0 or 1).

    ``gain``: log-likelihood of the predicted token, at the best of ``SHARPNESS``, over what its mere frequency
    gives; comparable between predictions. ``likelihood``: as the drafter says it. ``owner``: the row's sample.
    """

    gain: Numbers
    likelihood: Numbers
    correct: npt.NDArray[np.bool_]
    owner: npt.NDArray[np.int64]

    def by_sample(self, values: Numbers) -> Numbers:
        """Sum values over each sample's rows."""
        return np.bincount(self.owner, weights=values, minlength=int(self.owner.max()) + 1).astype(np.float64)


class Half:
    """Half of the samples, packed for the drafter, with what every prediction says of them."""

    def __init__(self, samples: Sequence[DraftSample], told: Sequence[Mapping[Prediction, Tokens]]) -> None:
        import torch

        self.samples, self.told = tuple(samples), tuple(told)
        self.rows = [len(sample.token_ids) - BEYOND for sample in samples]
        self.packs = _pack(self.rows)
        self.owner = np.repeat(np.arange(len(samples)), self.rows)
        self._planes: dict[tuple[int, Tap], Tensor] = {}
        self.tokens = [torch.from_numpy(np.asarray(sample.token_ids, np.int64)) for sample in samples]

    @property
    def positions(self) -> int:
        """How many rows are scored."""
        return sum(self.rows)

    def plane(self, pack: int, tap: Tap) -> Tensor:
        """Give one plane of a pack, [rows, Ht]."""
        import torch

        key = (pack, tap)
        if key not in self._planes:
            parts = [self.samples[at].planes[tap][: self.rows[at]] for at in self.packs[pack]]
            self._planes[key] = torch.from_numpy(np.concatenate(parts).astype(np.float32))
        return self._planes[key]

    def wanted(self, prediction: Prediction, step: int = 0) -> Tokens:
        """Give what a prediction says for every row, [positions]; rows that a later step cannot reach have -1."""
        shift = prediction.shift + step
        parts = []
        for at, rows in enumerate(self.rows):
            told = self.told[at][prediction][shift : shift + rows - step]
            parts.append(np.concatenate((told, np.full(rows - len(told), -1, np.int64))))
        return np.concatenate(parts)


class Scorer:
    """Runs a drafter under any wiring over one half; what was scored once is remembered.

    ``weights``: by canonical name, borrowed ones included. ``frequencies``: how often each prediction says each
    token, [V], of the half that is searched on.
    """

    def __init__(self, contract: Contract, weights: Mapping[str, Tensor], half: Half) -> None:
        self.contract, self.weights, self.half = contract, dict(weights), half
        self.frequencies: dict[Prediction, Numbers] = {}
        self.evaluations = 0
        self._scores: dict[tuple[Hypothesis, int], Score] = {}
        self._drafters: dict[Wiring, ReferenceDrafter] = {}
        self._last: tuple[Wiring, int, list[Tensor]] | None = None

    def score(self, hypothesis: Hypothesis, steps: int = 1) -> Score:
        """Score step 0, or with ``steps`` > 1 all later ones together."""
        key = (hypothesis, steps)
        if key not in self._scores:
            outputs = self._outputs(hypothesis.wiring, steps)
            ids = self._drafter(hypothesis.wiring).target_ids().numpy()
            scored = range(1, steps) if steps > 1 else range(1)
            parts = [self._judge(outputs[step], ids, hypothesis.prediction, step) for step in scored]
            self._scores[key] = parts[0] if len(parts) == 1 else _join(parts)
        return self._scores[key]

    def _judge(self, logits: Tensor, ids: npt.NDArray[np.int64], prediction: Prediction, step: int) -> Score:
        wanted, vocab = self.half.wanted(prediction, step), self.contract.target.vocab_size
        rows = np.flatnonzero(wanted >= 0)
        known = (ids >= 0) & (ids < vocab)
        place = np.full(vocab, -1)
        place[ids[known]] = np.flatnonzero(known)
        column, said = place[wanted[rows]], logits.numpy()[rows]
        base = np.log(self.frequency(prediction))[wanted[rows]]
        tried = {factor: _likelihood(said, column, factor, vocab) for factor in SHARPNESS}
        best = max(tried.values(), key=lambda likelihood: float(likelihood.sum()))
        correct = ids[said.argmax(axis=-1)] == wanted[rows]
        return Score(best - base, tried[1.0], correct, self.half.owner[rows])

    def frequency(self, prediction: Prediction) -> Numbers:
        """Give the share of every token among what a prediction says, none of them zero."""
        if prediction not in self.frequencies:
            wanted, vocab = self.half.wanted(prediction), self.contract.target.vocab_size
            counts = np.bincount(wanted[wanted >= 0], minlength=vocab) + 1.0 / vocab
            self.frequencies[prediction] = counts / counts.sum()
        return self.frequencies[prediction]

    def _outputs(self, wiring: Wiring, steps: int) -> list[Tensor]:
        """Give the logits of all rows for each step, [positions, D]."""
        import torch

        if self._last is None or self._last[0] != wiring or self._last[1] < steps:
            self.evaluations += 1
            drafter = self._drafter(wiring)
            with torch.inference_mode():
                packs = [self._run(drafter, wiring, pack, steps) for pack in range(len(self.half.packs))]
                joined = [torch.cat([pack[step] for pack in packs]) for step in range(steps)]
            self._last = (wiring, steps, joined)
        return self._last[2]

    def _run(self, drafter: ReferenceDrafter, wiring: Wiring, pack: int, steps: int) -> list[Tensor]:
        import torch

        half = self.half
        members = half.packs[pack]
        sizes = torch.tensor([half.rows[at] for at in members])
        tokens = torch.cat([half.tokens[at][wiring.token : wiring.token + half.rows[at]] for at in members])
        documents = torch.arange(len(members)).repeat_interleave(sizes)
        positions = torch.cat([torch.arange(int(size)) for size in sizes])
        fc_input = torch.cat([half.plane(pack, tap) for tap in wiring.taps], dim=-1)
        done = drafter.forward(fc_input, tokens, positions, steps=steps, documents=documents)
        return [step.logits.float() for step in done]

    def _drafter(self, wiring: Wiring) -> ReferenceDrafter:
        from dataclasses import replace

        key = replace(wiring, taps=(), token=0)
        if key not in self._drafters:
            self._drafters[key] = ReferenceDrafter(apply_wiring(self.contract, wiring), self.weights)
        return self._drafters[key]


def _likelihood(logits: npt.NDArray[np.float32], column: npt.NDArray[np.int64], factor: float, vocab: int) -> Numbers:
    """Give the log-likelihood of one draft id for each row (-1: not in the draft vocabulary), with the floor."""
    scaled = logits * np.float32(factor)
    top = scaled.max(axis=-1)
    norm = top + np.log(np.exp(scaled - top[:, None]).sum(axis=-1))
    found = np.where(column >= 0, scaled[np.arange(len(column)), column] - norm, -np.inf).astype(np.float64)
    return np.logaddexp(math.log1p(-FLOOR_SHARE) + found, math.log(FLOOR_SHARE / vocab))


def _pack(rows: Sequence[int]) -> list[list[int]]:
    packs: list[list[int]] = []
    held = _PACKED_ROWS
    for at, count in enumerate(rows):
        if held + count > _PACKED_ROWS:
            packs.append([])
            held = 0
        packs[-1].append(at)
        held += count
    return packs


def _join(parts: Sequence[Score]) -> Score:
    gain, likelihood, owner = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("gain", "likelihood", "owner")
    )
    return Score(gain, likelihood, np.concatenate([part.correct for part in parts]), owner)
