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


LEAST_SHARE = 0.005
"""Share of rows drafted as they should be that a difference must add: likelihood alone may be sharpness."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One against another on the same rows. ``gain``: what the first is better by, per row, in ``unit``.

    ``votes`` of ``samples`` are for the first; ``chance``: of as many or more, were both equal (one-sided).
    ``share``: how many more rows it drafts as they should be, as a share of all.
    """

    gain: float
    votes: int
    samples: int
    chance: float
    positions: int
    share: float
    unit: str = "nats"

    @property
    def beyond_doubt(self) -> bool:
        """Tell whether the first is better: surely, and by more than rounding."""
        return self.chance < ALPHA and self.gain >= LEAST_GAIN

    @property
    def drafts_more(self) -> bool:
        """Tell whether the first also drafts more of the tokens that it should."""
        return self.share >= LEAST_SHARE

    def __str__(self) -> str:
        """Say it with its numbers."""
        size = f"{self.gain:+.3f} nats per row" if self.unit == "nats" else f"{self.gain:+.1%} of the rows agree"
        return (
            f"{size} over {self.positions} held-out rows, better in {self.votes} of {self.samples} samples "
            f"(chance {self.chance:.1g} if both were equal)"
        )


def compare_scores(first: Score, second: Score, *, by_agreement: bool = False) -> Comparison:
    """Compare two scores of the same half, by the gain of each sample or by how many of its rows agree.

    Agreement compares different predictions, whose likelihoods have different bases.
    """
    share = float(first.correct.mean() - second.correct.mean())
    if by_agreement:
        mine, other = (item.by_sample(item.correct.astype(np.float64)) for item in (first, second))
        return compare_sums(mine, other, len(first.correct), share, unit="share")
    return compare_sums(first.by_sample(first.gain), second.by_sample(second.gain), len(first.gain), share)


def compare_sums(first: Numbers, second: Numbers, positions: int, share: float = 0.0, unit: str = "nats") -> Comparison:
    """Compare sums by sample; a tie votes for neither."""
    difference = first - second
    votes, samples = int((difference > 0).sum()), int((difference != 0).sum())
    gain = float(difference.sum() / positions)
    return Comparison(gain, votes, samples, tail(votes, samples), positions, share, unit)


def tail(votes: int, samples: int) -> float:
    """Give the probability of ``votes`` or more heads among ``samples`` throws of a fair coin."""
    return float(sum(comb(samples, count) for count in range(votes, samples + 1)) / 2**samples)


def least_samples() -> int:
    """Give how many samples there must be for all of them together to be beyond doubt."""
    return next(count for count in range(1, 64) if tail(count, count) < ALPHA)


def zero_like(score: Score) -> Numbers:
    """Give the gains by sample of a drafter that knows each token's frequency and nothing else."""
    return np.zeros(int(score.owner.max()) + 1)
