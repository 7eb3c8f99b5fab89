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
    declared = _find_contract(contract)
    findings = _judge(batch, declared, norm_weight, dataset_format)
    wrong = {Verdict.FAILED} if serves_unchecked else {Verdict.FAILED, Verdict.ERRORED}
    blamed = tuple(item for item in findings if item.verdict in wrong and item.level is Level.MUST)
    if blamed and raises:
        raise _refuse(declared, blamed)
    return findings


def _find_contract(contract: Any) -> Contract:
    from eagle3_contracts.contract import Contract, load_contract

    declared = load_contract(contract) if isinstance(contract, str) else contract
    if isinstance(declared, Contract):
        return declared
    told = f"a contract is a name, a path or what load_contract gives, and this is {type(declared).__name__}"
    raise GuardError(f"eagle3-contracts: {told}")


def _judge(batch: Any, declared: Contract, norm_weight: Any, dataset_format: str | None) -> tuple[Finding, ...]:
    """Give all findings; a batch that cannot be looked at is "could not check", never a crash without a name."""
    from eagle3_contracts.guards.batches import read_step_zero
    from eagle3_contracts.guards.rows import check_batch

    step, known = read_step_zero(batch)
    try:
        return tuple(check_batch(declared, step, norm_weight, dataset_format or known))
    except Exception as error:
        why = f"{type(error).__name__}: {str(error)[:300]}"
        parts = (
            "give tensors or arrays of numbers: fc_input [B, N, W], tokens [B, N], last_hidden [B, N, H], mask [B, N]"
        )
        message = f"eagle3-contracts: COULD NOT CHECK the batch against the contract {declared.reference}: {why}"
        raise GuardError(f"{message}. {parts}") from error


def _refuse(declared: Contract, blamed: tuple[Finding, ...]) -> GuardError:
    from eagle3_contracts.reports.terminal import describe_finding

    failed = any(item.verdict is Verdict.FAILED for item in blamed)
    told = "does not keep" if failed else "COULD NOT BE CHECKED against"
    heading = f"eagle3-contracts: the batch {told} the contract {declared.reference}"
    return GuardError("\n".join([heading, *(describe_finding(item) for item in blamed)]), blamed)
