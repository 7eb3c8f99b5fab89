"""Values of a checkpoint: finite, trained, of effect, and drafting what was recorded."""

from __future__ import annotations

import dataclasses
import math

from eagle3_contracts.clauses.checkpoint.files import find_tensor_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, state
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import expected_tensors
from eagle3_contracts.evidence import CheckpointEvidence, Problem
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

LARGEST = {"float16": 65504.0}
"""What dtypes of a narrow range hold."""
QUIETEST = 1e-5
"""Relative L2 by which logits must move when a tensor is changed by half its size; rounding moves them by 1e-7."""
AGREEMENT = 0.98
"""Least share of recorded tokens: bfloat16 weights drafted .994 of them on a real model, every fault .89 or less."""


def _find_obstacle(evidence: CheckpointEvidence) -> Obstacle | None:
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    if all(record.values is None for record in evidence.weights.values()):
        return Obstacle("no values were read (scan: headers)", "read them: --contract-scan=sample")
    return None


def check_finite(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each tensor with NaN or infinite values, or values beyond the dtype that the target computes in."""
    obstacle = _find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    bound, dtype = LARGEST.get(contract.target.dtype), contract.target.dtype
    defects = []
    for name, record in evidence.weights.items():
        values, where = record.values, Where(file=record.file, tensor=name)
        if values is None:
            continue
        if values.nonfinite:
            are = "is" if values.nonfinite == 1 else "are"
            told = f"{name} has {say_count(values.nonfinite, 'value')} that {are} NaN or infinite"
            hint = "take the last checkpoint before training diverged; lower the learning rate, or clip gradients"
            defects.append(Defect(told, where, hint, float(values.nonfinite)))
        elif bound is not None and values.largest > bound:
            told = f"{name} reaches {values.largest:,.0f}, which {dtype} does not hold"
            hint = f"serve the drafter in bfloat16: engines cast it to the target's {dtype}"
            defects.append(Defect(told, where, hint, values.largest, bound))
    return state(
        clause, evidence, defects, sound="all weights are finite", expected=f"finite weights, in {dtype} as well"
    )


def check_fresh_tensors(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for matrices with an initialisation's distribution, to sampling error, and for tensors of one value."""
    obstacle = _find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    expected = expected_tensors(contract)
    hint = "look whether the exporter found this tensor among the trained ones, or training ever moved it"
    defects = []
    for name, record in evidence.weights.items():
        if record.values is None or record.canonical not in expected or record.canonical == "d2t":
            continue
        told = record.values.fresh
        if record.values.constant is not None:
            told = f"{record.values.constant:g} everywhere"
        if told:
            defects.append(Defect(f"{name} is {told}", Where(file=record.file, tensor=name), hint))
    sound = f"{say_count(len(evidence.weights), 'tensor')}, none as an initialisation leaves it"
    return state(clause, evidence, defects, sound=sound, expected="values that training has moved")


def check_dead_tensors(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each tensor that can be changed by half its size without moving the reference drafter's logits."""
    del contract
    obstacle = _find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if not evidence.responses:
        told = first_problem(evidence.problems, "perturbation", "needs")
        unrun = from_problem(told) if told else Obstacle("the drafter was not run")
        return [unrun.finding(clause, evidence.subject)]
    hint = "a tensor behind it is zero, or this one is not wired in: export it again, and look at the values around it"
    defects = [
        Defect(f"{name}: logits move by {response:.1g} of their size", Where(tensor=name), hint, response, QUIETEST)
        for name, response in evidence.responses.items()
        if not math.isnan(response) and response < QUIETEST
    ]
    broken = [name for name, response in evidence.responses.items() if math.isnan(response)]
    if broken:
        return [_explain_overflow(evidence).finding(clause, evidence.subject)]
    least = min(evidence.responses, key=lambda name: evidence.responses[name])
    moved = say_count(len(evidence.responses), "tensor")
    sound = f"{moved} move the logits, {least} least ({evidence.responses[least]:.2g})"
    return state(
        clause, evidence, defects, sound=sound, expected=f"logits moved by {QUIETEST:g} of their size at least"
    )


def _explain_overflow(evidence: CheckpointEvidence) -> Obstacle:
    """Say why logits are not finite: a value that is none, or the largest that leads beyond float32."""
    reached = {name: record.values for name, record in evidence.weights.items() if record.values is not None}
    if any(values.nonfinite for values in reached.values()):
        return Obstacle("the drafter's logits are not finite", "see checkpoint.finite")
    name = max(reached, key=lambda item: reached[item].largest)
    told = f"the drafter's logits are not finite, though all weights are: {name} reaches {reached[name].largest:.3g}"
    return Obstacle(told, "look how this tensor was trained and exported", Where(tensor=name))


def check_drafted_tokens(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a drafter that drafts other tokens than the recording of its contract; skipped if there is none."""
    obstacle = _find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    found = evidence.drafted
    if found is None:
        none = Obstacle(f"no drafted tokens are recorded for {contract.reference}", skips=True)
        told = first_problem(evidence.problems, "drafted")
        return [(_explain(told) if told else none).finding(clause, evidence.subject)]
    steps = ", ".join(f"step {index} {share:.3f}" for index, share in enumerate(found.steps))
    observed = f"{found.agreement:.3f} of {found.positions:,} tokens as recorded ({steps}; {found.source})"
    sound = found.agreement >= AGREEMENT
    hint = (
        "the wiring or a tensor differs from what was recorded: compare the findings above, then the layout of "
        "queries, keys and values"
    )
    return [
        clause.find(
            Verdict.PASSED if sound else Verdict.FAILED,
            evidence.subject,
            observed=observed,
            expected=f"at least {AGREEMENT:g} of the recorded tokens",
            measure=found.agreement,
            bound=AGREEMENT,
            hint="" if sound else hint,
        )
    ]


def _explain(problem: Problem) -> Obstacle:
    """Say why nothing was drafted; rows of a target that was not given are skipped, like all that needs a target."""
    return dataclasses.replace(from_problem(problem), skips="was not given" in problem.reason)
