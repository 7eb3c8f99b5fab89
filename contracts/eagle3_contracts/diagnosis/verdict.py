"""What a diagnosis says: its verdict, how sure it is, and what it could not tell apart. JSON-ready, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class DraftVerdict(StrEnum):
    """What is the matter with a drafter."""

    WIRED_WRONG = "wired wrong"
    WRONG_TARGETS = "wrong targets"
    UNDER_TRAINED = "under-trained"
    SOUND = "sound"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the drafter was trained with and the contract states otherwise, and how sure that is."""

    name: str
    declared: str
    found: str
    sure: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A change of one thing that this evidence cannot tell from what was found.

    ``gain``: per held-out row, in nats, or for a training target the share of rows that agree. ``sure``: how sure it
    is that what was found is better.
    """

    name: str
    value: str
    gain: float
    sure: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What one hypothesis reaches on the held-out half at step 0; accuracies are shares of all rows.

    ``against_target``: the drafted token is the one that the target would choose; None where that is not known.
    ``against_text``: it is the token that follows in the text. ``log_likelihood``: of the token that should be
    predicted, nats per row.
    """

    against_target: float | None
    against_text: float
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One drafter, held against one contract on some samples.

    ``reasons``: sentences that say why, most important first. ``declared`` and ``found``: the fc input in words.
    ``fixes``: one line for each tool. ``reference``: what predictions were held against. ``positions``: held-out rows.
    """

    verdict: DraftVerdict
    contract: str
    reasons: tuple[str, ...]
    declared: str
    found: str
    reference: str
    measured: Measured | None = None
    measured_as_found: Measured | None = None
    differences: tuple[Difference, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    fixes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    samples: int = 0
    positions: int = 0
    evaluations: int = 0

    def encode(self) -> Mapping[str, Any]:
        """Give it as values that JSON knows."""
        return {**asdict(self), "verdict": str(self.verdict)}
