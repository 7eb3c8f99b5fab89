"""The recorded drafter, and what it drafted on the recorded sequences."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from eagle3_contracts.clauses.checkpoint.tensors import check_dtypes, check_shapes, check_tensors_present
from eagle3_contracts.clauses.checkpoint.values import AGREEMENT
from eagle3_contracts.clauses.checkpoint.vocabulary import (
    check_d2t_ids,
    check_d2t_reading,
    check_draft_vocabulary,
    check_vocabulary_size,
)
from eagle3_contracts.clauses.golden.judging import (
    DRAFTS,
    RECORD,
    STATES,
    Defect,
    add_unlooked,
    find_manifest_obstacle,
    find_values_obstacle,
    state,
)
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.tolerances import governing_tolerance
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DraftedComparison, GoldenEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_NO_DRAFTER = Obstacle(
    "no drafter was recorded, so that nothing can be held against what it drafts",
    "put the trained drafter into the folder drafter beside the target, and record again: eagle3-contracts record NAME",
    Where(file="drafter"),
    skips=True,
)
_DECLARED = "the tensors and vocabulary of the declared drafter"
_MEND = (
    "put the contract's own drafter there and record again (eagle3-contracts record NAME); eagle3-contracts check NAME "
    "--checkpoint DIR tells what is wrong with this one"
)
_CHECKS = (
    check_tensors_present,
    check_shapes,
    check_dtypes,
    check_vocabulary_size,
    check_draft_vocabulary,
    check_d2t_ids,
    check_d2t_reading,
)
"""What the checkpoint stage says of the same files; its other clauses read values, or ask what engines make of them."""


def check_drafter(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for each way in which the recorded drafter is not the contract's; drafts without a drafter fail too."""
    obstacle = find_manifest_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if evidence.drafter is None:
        if not any(item.drafts for item in evidence.sequences):
            return [_NO_DRAFTER.finding(clause, evidence.subject)]
        defect = Defect("drafts are recorded, and the drafter that drafted them is not", Where(file="drafter"), RECORD)
        return state(clause, evidence, [defect], expected="the drafter beside its drafts")
    found = [item for check in _CHECKS for item in check(clause, contract, evidence.drafter)]
    open_ones = [item for item in found if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    if open_ones:
        return [dataclasses.replace(item, expected=_DECLARED, hint=_MEND) for item in open_ones]
    tensors = say_count(len(evidence.drafter.weights), "tensor")
    sound = f"{evidence.drafter.form}'s form, {tensors}, draft vocabulary {contract.drafter.draft_vocab_size:,}"
    return state(clause, evidence, [], sound=sound, expected=_DECLARED)


def check_drafts(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail if the recorded drafter drafts other tokens or gives other logits than recorded.

    Its logits at steps that are fed with the text must agree within the contract's ``logprob_max`` of float32, in
    which the oracle computes; the first drafted token must be the best of its recorded logits in every row.
    """
    item = find_values_obstacle(evidence, STATES, DRAFTS) or evidence.drafted or _find_obstacle(evidence)
    if isinstance(item, Obstacle):
        return [item.finding(clause, evidence.subject)]
    governing = governing_tolerance(contract, ["float32"])
    if isinstance(governing, Obstacle):
        return [governing.finding(clause, evidence.subject)]
    bound, distance = governing.logprob, math.inf if item.logprob_distance is None else item.logprob_distance
    defects = list(_find_defects(item, distance, evidence.unfounded, bound))
    steps = ", ".join(f"step {index} {share:.3f}" for index, share in enumerate(item.steps))
    sound = (
        f"{item.agreement:.3f} of {item.positions:,} tokens drafted again ({steps}), "
        f"log-probabilities within {distance:.2g}"
    )
    found = state(
        clause,
        evidence,
        defects,
        sound=sound,
        expected=f"at least {AGREEMENT:g} of the tokens, log-probabilities within {bound:g} (float32)",
        measure=item.agreement,
        bound=AGREEMENT,
    )
    return add_unlooked(clause, evidence, found, list(evidence.undrafted.values()))


def _find_obstacle(evidence: GoldenEvidence) -> Obstacle:
    """Say why nothing was drafted again."""
    if evidence.drafter is None and not any(item.drafts for item in evidence.sequences):
        return _NO_DRAFTER
    told = first_problem(evidence.problems, "drafted")
    if told is not None:
        return from_problem(told)
    first = next(iter(evidence.undrafted.values()), "see golden.drafter")
    return Obstacle(f"no sequence can be drafted on again: {first}", RECORD, DRAFTS)


def _find_defects(item: DraftedComparison, distance: float, unfounded: int, bound: float) -> Iterator[Defect]:
    stale = f"the drafter was exchanged, or its wiring read otherwise, after the drafts were recorded: {RECORD}"
    if not item.agreement >= AGREEMENT:
        told = f"{item.agreement:.3f} of {item.positions:,} recorded tokens are drafted again"
        yield Defect(told, DRAFTS, stale, item.agreement, AGREEMENT)
    if not distance <= bound:
        told = f"log-probabilities of the recorded steps differ by {distance:.2g}"
        yield Defect(told, DRAFTS, stale, distance, bound)
    if unfounded:
        told = f"{say_count(unfounded, 'row')} drafted another token than the best of the recorded logits"
        yield Defect(told, DRAFTS, f"tokens and logits are of two runs: {RECORD}", float(unfounded))
