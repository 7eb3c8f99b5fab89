"""How sure it is that one hypothesis is better than another: a paired exact test in which every sample has one vote.

Rows of one sample depend on each other, so they do not count one by one (they are clustered); the sign test over
samples is exact whatever their lengths. McNemar's test is the same test on samples of one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from eagle3_contracts.diagnosis.scoring import Numbers, Score

ALPHA = 1e-3
"""Beyond doubt: the chance of as many votes, were both equally good."""
LEAST_POSITIONS = 500
LEAST_GAIN = 0.01
"""Nats per row below which a difference is no wiring, however sure (float32 and bf16 weights differ by about 1e-3)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One against another on the same rows. ``gain``: mean nats per row that the first is better by.

    ``votes`` of ``samples`` are for the first; ``chance``: of as many or more, were both equal (one-sided).
    """

    gain: float
    votes: int
    samples: int
    chance: float
    positions: int

    @property
    def beyond_doubt(self) -> bool:
        """Tell whether the first is better: surely, and by more than rounding."""
        return self.chance < ALPHA and self.gain >= LEAST_GAIN

    def __str__(self) -> str:
        """Say it with its numbers."""
        return (
            f"{self.gain:+.3f} nats per row over {self.positions} held-out rows, better in {self.votes} of "
            f"{self.samples} samples (chance {self.chance:.1g} if both were equal)"
        )


def compare_scores(first: Score, second: Score) -> Comparison:
    """Compare two scores of the same half by the gain of each sample."""
    return compare_gains(first.by_sample(first.gain), second.by_sample(second.gain), len(first.gain))


def compare_gains(first: Numbers, second: Numbers, positions: int) -> Comparison:
    """Compare sums by sample; a tie votes for neither."""
    difference = first - second
    votes, samples = int((difference > 0).sum()), int((difference != 0).sum())
    return Comparison(float(difference.sum() / positions), votes, samples, tail(votes, samples), positions)


def tail(votes: int, samples: int) -> float:
    """Give the probability of ``votes`` or more heads among ``samples`` throws of a fair coin."""
    return sum(comb(samples, count) for count in range(votes, samples + 1)) / 2**samples


def least_samples() -> int:
    """Give how many samples there must be for all of them together to be beyond doubt."""
    return next(count for count in range(1, 64) if tail(count, count) < ALPHA)


def zero_like(score: Score) -> Numbers:
    """Give the gains by sample of a drafter that knows each token's frequency and nothing else."""
    return np.zeros(int(score.owner.max()) + 1)
