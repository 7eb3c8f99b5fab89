"""Dtype and quantisation of target and drafter, by the server's own arguments."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import find_arguments
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.tolerances import Governing, governing_tolerance
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.launchers.dtypes import automatic_dtype, named_dtype
from eagle3_contracts.registry import Clause

_UNQUANTISED = frozenset({"", "none", "unquant"})


def served_dtypes(evidence: ServerEvidence) -> dict[str, str | None]:
    """Give the dtypes that target and drafter are computed in; None where neither flag nor config tells."""
    arguments = evidence.arguments
    if arguments is None:
        return {"target": None}
    found = {"target": _resolve(arguments.dtype, arguments, of_draft=False)}
    if evidence.role == "eagle3":
        found["drafter"] = _resolve(arguments.draft_dtype or arguments.dtype, arguments, of_draft=True)
    return found


def _resolve(text: str | None, arguments: ServerArguments, *, of_draft: bool) -> str | None:
    if text is None or text.lower() != "auto":
        return named_dtype(text) if text is not None else None
    model = arguments.draft if of_draft else arguments.target
    return automatic_dtype(model.config if model is not None else None)


def governing_served(contract: Contract, evidence: ServerEvidence) -> Governing | Obstacle:
    """Give the tolerance of the dtype that the target is served in; the contract's own where that is not known."""
    return governing_tolerance(contract, [served_dtypes(evidence)["target"] or contract.target.dtype])


@names_stand_ins
def check_dtype(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if target or drafter is computed in another dtype than the contract's; float32 holds every other one."""
    arguments = find_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    found = served_dtypes(evidence)
    wanted = {"target": contract.target.dtype, "drafter": contract.drafter.dtype or contract.target.dtype}
    wrong = [part for part, dtype in found.items() if dtype not in {None, wanted[part], "float32"}]
    told = ", ".join(f"{part} in {dtype or 'a dtype that is not told'}" for part, dtype in found.items())
    if not wrong and None in found.values():
        hint = "start the server with --dtype, or check where the model's folder is"
        return [Obstacle(told, hint, Where(flag="--dtype")).finding(clause, evidence.subject)]
    right = " and ".join(dict.fromkeys(wanted[part] for part in found))
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=told,
            expected=", ".join(f"{part} in {wanted[part]}, or in float32" for part in found),
            where=Where(flag="--dtype"),
            measure=float(len(wrong)),
            bound=0.0,
            hint=f"start the server with --dtype {right}" if wrong else "",
        )
    ]


@names_stand_ins
def check_quantization(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if the target is quantised otherwise than the contract says, or the drafter at all."""
    arguments = find_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    declared, served = contract.target.quantization, _plain(arguments.quantization)
    drafter = _plain(arguments.draft_quantization) if evidence.role == "eagle3" else ""
    told = [f"the target is quantised as {served}"] if served else ["no flag quantises the target"]
    told += [f"the drafter as {drafter}"] if drafter else []
    target_wrong = bool(served) and served != _plain(declared)
    if target_wrong:
        hint = "a quantised target is another target: leave --quantization out, or state it in the contract"
    else:
        hint = "start with --speculative-draft-model-quantization unquant: the drafter was trained without"
    wrong = int(target_wrong) + int(bool(drafter))
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=" and ".join(told),
            expected=f"target.quantization = {declared!r}, and a drafter that is not quantised",
            where=Where(flag="--quantization" if target_wrong else "--speculative-draft-model-quantization"),
            measure=float(wrong),
            bound=0.0,
            hint=hint if wrong else "",
        )
    ]


def _plain(method: str | None) -> str:
    text = (method or "").lower()
    return "" if text in _UNQUANTISED else text
