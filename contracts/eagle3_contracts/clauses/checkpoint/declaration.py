"""What a checkpoint's files say of themselves: the stamps of the contract that they were made by."""

from __future__ import annotations

from collections.abc import Mapping

from eagle3_contracts.clauses.checkpoint.files import find_config_obstacle
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.stamps import judge_stamp, say_assumed
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import stamp_of_checkpoint
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def check_declaration(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for every stamp that contradicts the contract; skipped, with what is assumed, if there is none."""
    unread = first_problem(evidence.problems, "stamp")
    obstacle = from_problem(unread) if unread is not None else find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared = stamp_of_checkpoint(contract)
    found: list[Finding] = []
    for file, stamp in evidence.stamps.items():
        where = Where(file=file)
        table = stamp if isinstance(stamp, Mapping) else {}
        judged = list(judge_stamp(clause, evidence.subject, "checkpoint", table, declared, where))
        found += judged or [
            Obstacle(f"{file} holds a stamp that says nothing", _AGAIN, where).finding(clause, evidence.subject)
        ]
    if not found:
        return [Obstacle(say_assumed(declared), skips=True).finding(clause, evidence.subject)]
    return [item for item in found if item.verdict is not Verdict.PASSED] or found


_AGAIN = "stamp the checkpoint again: eagle3-contracts stamp NAME PATH --in-place --replace"
