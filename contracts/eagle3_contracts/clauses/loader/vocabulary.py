"""Whether a row is trained towards what the drafter cannot say (``draft-vocabulary``)."""

from __future__ import annotations

import numpy as np

from eagle3_contracts.clauses.loader.alignment import in_vocabulary
from eagle3_contracts.clauses.loader.anchors import find_anchors, name_row
from eagle3_contracts.clauses.loader.runs import find_obstacle, keep_open_untrained, sound_rows
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LoaderEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause


def check_draft_vocabulary(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a trained row has a target outside the draft vocabulary; skipped where the loader knows no targets."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    if rows.targets is None or rows.vocabulary is None:
        reason = "the loader gives no target ids with a draft vocabulary: its model makes them of the last hidden state"
        return [Obstacle(reason, skips=True).finding(clause, evidence.subject)]
    size, declared = int(rows.vocabulary.sum()), contract.drafter.draft_vocab_size
    placed = find_anchors(rows, evidence.runs["sound"].samples).placed
    wrong = np.flatnonzero(placed & rows.trained & ~in_vocabulary(rows))
    trained = int((placed & rows.trained).sum())
    observed = f"{len(wrong)} of {trained} trained rows have a target outside the draft vocabulary of {size:,} tokens"
    if len(wrong):
        observed += f"; first: {name_row(rows, wrong[0])}"
    failed = bool(len(wrong)) or size != declared
    finding = clause.find(
        Verdict.FAILED if failed else Verdict.PASSED,
        evidence.subject,
        observed=observed,
        expected=f"none, with {declared:,} tokens (drafter.draft_vocab_size)",
        measure=float(len(wrong)) if len(wrong) or size == declared else float(size),
        bound=0.0 if len(wrong) or size == declared else float(declared),
        hint="mask rows whose target token t2d does not hold: position_mask = t2d[target] * loss_mask"
        if failed
        else "",
    )
    return keep_open_untrained(clause, evidence, [finding])
