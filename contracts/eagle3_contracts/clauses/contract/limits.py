"""Limits of a document: tolerances that numeric clauses need, and positions that the drafter knows."""

from __future__ import annotations

from eagle3_contracts.clauses.contract.planes import SUBJECT
from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause


def check_tolerance(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail if no tolerance is declared for the target's dtype or for one that states are stored in."""
    orders = (None, *contract.storage.formats, *contract.storage.dtypes)
    needed = dict.fromkeys((contract.target.dtype, *(contract.stored_dtype(order) for order in orders)))
    missing = [dtype for dtype in needed if contract.tolerance_for(dtype) is None]
    if not missing:
        return [clause.find(Verdict.PASSED, SUBJECT, observed=f"declared for {', '.join(needed)}")]
    return [
        clause.find(
            Verdict.FAILED,
            SUBJECT,
            observed=f"no tolerance for {', '.join(missing)}",
            hint=f"measure a correct artifact and add [tolerance.{missing[0]}] with relative_l2_median, logprob_max "
            "and where they come from; until then boundaries of such states cannot be decided",
        )
    ]


def check_positions(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail if contexts are served that are longer than what the drafter was trained for."""
    served = None if contract.serving is None else contract.serving.context_length
    if served is None:
        return [clause.find(Verdict.SKIPPED, SUBJECT, observed="the contract states no serving.context_length")]
    known = contract.drafter.max_position
    return [
        clause.find(
            Verdict.PASSED if served <= known else Verdict.FAILED,
            SUBJECT,
            observed=f"contexts of {served:,} tokens, positions of the drafter up to {known:,}",
            measure=float(served),
            bound=float(known),
            hint="" if served <= known else f"serve contexts up to {known:,} tokens, or train the drafter further",
        )
    ]
