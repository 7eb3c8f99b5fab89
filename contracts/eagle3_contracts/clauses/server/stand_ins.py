"""Stand-ins: parts of a server that are no engine's own, named in every finding that rests on them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import Clause

Check = Callable[[Clause, Contract, ServerEvidence], list[Finding]]


def names_stand_ins(check: Check) -> Check:
    """Add the stand-ins of the server to what each finding of a check observed."""

    @functools.wraps(check)
    def told(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
        findings = check(clause, contract, evidence)
        if not evidence.stand_ins:
            return findings
        beside = f" [stands in: {', '.join(evidence.stand_ins)}]"
        return [dataclasses.replace(item, observed=item.observed + beside) for item in findings]

    return told
