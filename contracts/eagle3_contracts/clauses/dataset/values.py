"""Values of a dataset: loss mask, token ids, and the rows of its planes."""

from __future__ import annotations

from functools import partial

from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.dataset.shapes import find_mask_obstacle
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.rows import judge_finite, judge_norms, judge_zero_rows
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence, Tally
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause


def check_mask_values(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if a mask holds other numbers than 0 and 1, or if all masks together are constant."""
    del contract
    obstacle = find_obstacle(evidence, values=True) or find_mask_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    findings = []
    if evidence.mask_other.count:
        observed = f"neither 0 nor 1: {say_count(evidence.mask_other.count, 'mask entry')}"
        findings.append(_say_mask(clause, evidence, evidence.mask_other, observed, "store the mask as 0 and 1"))
    hint = (
        "the mask is made from the chat template's generation marks: a template without them gives all zeros or all "
        "ones. Make it again, and look at one sample's masked text"
    )
    for tally, what in ((evidence.mask_all_zero, "zero: no token is trained on"), (evidence.mask_all_one, "one")):
        if tally.count and tally.count == evidence.samples:
            observed = f"every mask entry of all {evidence.samples:,} samples is {what}"
            findings.append(_say_mask(clause, evidence, tally, observed, hint))
    constant = f"all zeros in {evidence.mask_all_zero.count:,}, all ones in {evidence.mask_all_one.count:,}"
    passed = clause.find(
        Verdict.PASSED, evidence.subject, observed=f"masks of {evidence.samples:,} samples are 0 and 1 ({constant})"
    )
    return findings or [passed]


def _say_mask(clause: Clause, evidence: DatasetEvidence, tally: Tally, observed: str, hint: str) -> Finding:
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=observed,
        where=tally.place,
        measure=float(tally.count),
        bound=0.0,
        hint=hint,
    )


def check_token_ids(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for ids below zero, or beyond the target's vocabulary."""
    obstacle = find_obstacle(evidence, values=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if evidence.token_maximum is None:
        return [Obstacle("the files hold no token ids").finding(clause, evidence.subject)]
    vocabulary, highest, below = contract.target.vocab_size, evidence.token_maximum, evidence.tokens_below_zero
    expected = f"ids 0 to {vocabulary - 1:,} (target.vocab_size {vocabulary:,})"
    hint = (
        f"tokenise with the tokenizer of {contract.target.model}; ids of added tokens and of multimodal placeholders "
        "may lie beyond the embedding, and -100 belongs into labels"
    )
    told = f"the highest token id is {highest:,}"
    say = partial(clause.find, subject=evidence.subject, expected=expected)
    within = partial(say, observed=told, measure=float(highest), bound=float(vocabulary - 1))
    findings = []
    if highest >= vocabulary:
        findings.append(within(Verdict.FAILED, where=evidence.token_maximum_where, hint=hint))
    if below.count:
        observed = f"below zero: {say_count(below.count, 'token id')}"
        negative = partial(say, measure=float(below.count), bound=0.0)
        findings.append(negative(Verdict.FAILED, observed=observed, where=below.place, hint=hint))
    return findings or [within(Verdict.PASSED)]


def check_finite(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for every plane that holds NaN or infinite values."""
    obstacle = find_obstacle(evidence, values=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_finite(clause, evidence.subject, contract.stored_planes(evidence.format), evidence.planes)


def check_zero_rows(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for every plane that holds rows of zeros."""
    obstacle = find_obstacle(evidence, values=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_zero_rows(clause, evidence.subject, contract.stored_planes(evidence.format), evidence.planes)


def check_norm_range(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for every plane whose median norm leaves its declared range; skipped if none declares one."""
    obstacle = find_obstacle(evidence, values=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_norms(clause, evidence.subject, contract.stored_planes(evidence.format), evidence.planes)
