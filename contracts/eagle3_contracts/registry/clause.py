"""What a clause is, and how a check states its outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.findings import Finding, Level, Rung, Verdict, Where

Need = Literal["", "states", "logits", "embedding_distance", "norm_vector_rms"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One checkable sentence of the contract.

    ``id`` is permanent, and no id is a prefix of another. ``needs`` names the part of a ``TargetComparison``
    without which there is nothing to judge: with no target given the clause is skipped, with a target that
    cannot give that part it is errored. ``why``: the public case or source that forces the rule.
    """

    id: str
    level: Level
    sentence: str
    why: str
    needs: Need = ""

    @property
    def stage(self) -> str:
        """The stage: the part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def check_name(self) -> str:
        """The name of the function in ``eagle3_contracts.clauses.<stage>`` that checks it."""
        return "check_" + self.id.partition(".")[2].replace("-", "_")

    def find(
        self,
        verdict: Verdict,
        subject: str,
        *,
        observed: str = "",
        expected: str = "",
        where: Where | None = None,
        rung: Rung | None = None,
        measure: float | None = None,
        bound: float | None = None,
        hint: str = "",
        level: Level | None = None,
    ) -> Finding:
        """State an outcome.

        ``level`` lowers a must to a should where the clause itself says so (drift). A measure that is not finite is
        left out: JSON has no word for it, and ``observed`` says it.
        """
        return Finding(
            clause=self.id,
            level=level or self.level,
            verdict=verdict,
            stage=self.stage,
            subject=subject,
            observed=observed,
            expected=expected or self.sentence,
            rung=rung,
            where=where or Where(),
            measure=measure if measure is not None and math.isfinite(measure) else None,
            bound=bound,
            hint=hint,
        )
