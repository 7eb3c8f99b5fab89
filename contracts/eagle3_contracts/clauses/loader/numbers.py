"""What becomes of the numbers themselves: dtype and size (``dtype``, ``values``)."""

from __future__ import annotations

import numpy as np

from eagle3_contracts.clauses.loader.runs import find_obstacle, sound_rows
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LoaderEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

_HOLDS = {
    "bfloat16": {"bfloat16", "float32", "float64"},
    "float16": {"float16", "float32", "float64"},
    "float32": {"float32", "float64"},
    "float8_e4m3fn": {"float8_e4m3fn", "bfloat16", "float16", "float32", "float64"},
    "float8_e5m2": {"float8_e5m2", "bfloat16", "float16", "float32", "float64"},
}
"""What is stored in a dtype can be held, without loss, in these."""

AMPLITUDE = (0.75, 1.25)
"""Mean absolute value of a plane stored as +1 and -1. Noise that training adds on purpose (speculators: uniform or
gaussian, 0.05) moves it by far less; a norm, a scale left out, or a mean of planes by more."""


def check_dtype(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if states arrive in a dtype that cannot hold what is stored, and that the contract does not compute in."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows, stored = sound_rows(evidence), evidence.stored_dtype
    allowed = {*_HOLDS.get(stored, {stored}), contract.target.dtype, contract.drafter.dtype or contract.target.dtype}
    arrived = {"fc": rows.fc_dtype} | ({"the loss": rows.last_dtype} if rows.last_dtype else {})
    wrong = {place: dtype for place, dtype in arrived.items() if dtype not in allowed}
    told = ", ".join(f"{place} gets {dtype}" for place, dtype in (wrong or arrived).items())
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=f"{told}, of states stored in {stored}",
            expected=f"one of {', '.join(sorted(allowed))}",
            measure=float(len(wrong)),
            bound=0.0,
            hint=f"cast to {contract.drafter.dtype or contract.target.dtype}, or not at all; float16 ends at 65,504"
            if wrong
            else "",
        )
    ]


def check_values(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a plane stored as +1 and -1 arrives larger or smaller."""
    del contract
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    places = [f"block {block} of fc's input" for block in range(rows.fed)] + ["the last hidden state"]
    known = {place: float(size) for place, size in zip(places, rows.amplitude, strict=True) if np.isfinite(size)}
    if not known:
        return [Obstacle("no row holds stored planes", "see loader.fc-input").finding(clause, evidence.subject)]
    place, size = max(known.items(), key=lambda item: abs(item[1] - 1))
    low, high = AMPLITUDE
    holds = low <= size <= high
    return [
        clause.find(
            Verdict.PASSED if holds else Verdict.FAILED,
            evidence.subject,
            observed=f"{place} has a mean absolute value of {size:.3g}, stored as 1",
            expected=f"between {low:g} and {high:g}",
            measure=size,
            bound=high if size > 1 else low,
            hint="" if holds else "states are scaled, normed, or read without their scales on the way: leave norms "
            "to the drafter (fc.input_norm)",
        )
    ]  # fmt: skip
