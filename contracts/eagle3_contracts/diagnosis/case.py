"""All that the steps of one diagnosis share."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.scoring import Scorer
from eagle3_contracts.diagnosis.search import LATER_STEPS
from eagle3_contracts.diagnosis.space import Space
from eagle3_contracts.diagnosis.sureness import Comparison, compare_scores
from eagle3_contracts.diagnosis.wiring import Hypothesis


@dataclass(slots=True)
class Case:
    """One drafter under diagnosis: scorers of a few rows, of the half searched on and of the half held out."""

    contract: Contract
    declared: Hypothesis
    space: Space
    coarse: Scorer
    seeking: Scorer
    holding: Scorer
    expected: float | None
    found: Hypothesis

    def compare(self, scorer: Scorer, name: str, first: Hypothesis, second: Hypothesis) -> Comparison:
        """Compare two hypotheses that differ in one thing, by what shows it: later steps, or agreement."""
        steps = LATER_STEPS if name == "recurrent" else 1
        scores = (scorer.score(item, steps) for item in (first, second))
        return compare_scores(*scores, by_agreement=name == "prediction")
