"""``guard(batch, contract)``: what a trainer's first batch itself can tell, before a step is spent on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.guards.refusal import GuardError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract


def guard(
    batch: Any,
    contract: Contract | str,
    *,
    norm_weight: Any = None,
    dataset_format: str | None = None,
    raises: bool = True,
    serves_unchecked: bool = False,
) -> tuple[Finding, ...]:
    """Hold a batch against a contract, and raise ``GuardError`` if it violates a must or could not be checked.

    ``batch``: what the trainer's loader gives - the dictionary of speculators 0.4 to 0.9 (collated and shifted) or of
    SpecForge 0.2 (before ``TargetHead.preprocess``, which is applied here) - or an ``eagle3_contracts.StepZero``.
    ``contract``: one that was loaded (``load_contract``), or its name. ``norm_weight`` [H]: the target's final norm
    as it is applied (1 + w for Gemma's), which tells whether the final state has passed it.
    ``dataset_format``: what a ``StepZero`` was read from, where that keeps another final state (storage.formats).
    ``raises=False``: findings only. ``serves_unchecked``: what could not be checked raises nothing.

    Nothing is changed and nothing kept; a few hundred rows are compared, so that it costs the same for any batch but
    for one look at whether its numbers are finite. Boundary 0 is a function of the token, so that it is told from any
    other: noise that training adds to states must be added after this call. Which other boundaries were captured no
    batch can tell: hold the dataset against the target for that (``--contract-hidden-states``, ``--contract-target``).
    """
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.guards.batches import read_step_zero
    from eagle3_contracts.guards.rows import check_batch

    declared = load_contract(contract) if isinstance(contract, str) else contract
    step, known = read_step_zero(batch)
    findings = tuple(check_batch(declared, step, norm_weight, dataset_format or known))
    wrong = {Verdict.FAILED} if serves_unchecked else {Verdict.FAILED, Verdict.ERRORED}
    blamed = tuple(item for item in findings if item.verdict in wrong and item.level is Level.MUST)
    if blamed and raises:
        from eagle3_contracts.reports.terminal import describe_finding

        failed = any(item.verdict is Verdict.FAILED for item in blamed)
        told = "does not keep" if failed else "COULD NOT BE CHECKED against"
        heading = f"eagle3-contracts: the batch {told} the contract {declared.reference}"
        raise GuardError("\n".join([heading, *(describe_finding(item) for item in blamed)]), blamed)
    return findings
