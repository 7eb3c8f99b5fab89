"""Dtype and quantisation of target and drafter, as the flags leave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagle3_contracts.clauses.launch.asking import Answer, ask, captures_only, find_obstacle, where_of
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.launchers.dtypes import NAMES, automatic_dtype
from eagle3_contracts.registry import Clause

_UNQUANTISED = frozenset({"", "none", "unquant"})


def check_dtype(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if target or drafter is computed in another dtype than the contract's, as far as flags and configs say."""
    obstacle = find_obstacle(evidence)
    answer = ask(evidence, "--dtype") if obstacle is None else Answer()
    obstacle = obstacle or answer.obstacle
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    wanted = {"target": contract.target.dtype, "drafter": contract.drafter.dtype or contract.target.dtype}
    if captures_only(evidence):
        del wanted["drafter"]
    text = (answer.text or "auto").lower()
    if text != "auto" and text not in NAMES:
        found: dict[str, str | None] = dict.fromkeys(wanted, text)
        source = "--dtype, which knows no such dtype"
    elif text != "auto":
        found = dict.fromkeys(wanted, NAMES[text])
        source = "--dtype, for target and drafter alike"
    else:
        found, source = _own_dtypes(evidence, tuple(wanted)), "as config.json says"
    wrong = {part: dtype for part, dtype in found.items() if dtype is not None and dtype != wanted[part]}
    return [_judge_dtypes(clause, evidence, answer, wanted, found, wrong, source)]


def _own_dtypes(evidence: LaunchEvidence, parts: tuple[str, ...]) -> dict[str, str | None]:
    """Give what each checkpoint's config leads to without a flag; vLLM computes the drafter in the target's."""
    models = {"target": evidence.target, "drafter": evidence.target if evidence.engine == "vllm" else evidence.draft}
    return {part: automatic_dtype(model.config if (model := models[part]) is not None else None) for part in parts}


def _judge_dtypes(
    clause: Clause,
    evidence: LaunchEvidence,
    answer: Answer,
    wanted: Mapping[str, str],
    found: Mapping[str, str | None],
    wrong: Mapping[str, str],
    source: str,
) -> Finding:
    told = ", ".join(f"{part} in {dtype or 'the dtype of its checkpoint'}" for part, dtype in found.items())
    hint = (
        f"write --dtype {wanted['target']}"
        if len(set(wanted.values())) == 1
        else "store each checkpoint in its own dtype"
    )
    return clause.find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        evidence.subject,
        observed=f"{told} ({source})",
        expected=", ".join(f"{part} in {dtype}" for part, dtype in wanted.items()),
        where=where_of(evidence, answer.argument, flag="--dtype"),
        measure=float(len(wrong)),
        bound=0.0,
        hint=hint if wrong else "",
    )


def check_quantization(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if a flag quantises the target otherwise than the contract says, or the drafter at all."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    target = ask(evidence, "--quantization")
    drafter, method = _drafter_method(evidence, target)
    obstacle = target.obstacle or drafter.obstacle
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared = contract.target.quantization
    findings = []
    if target.given and _plain(target.text) != _plain(declared):
        findings.append(
            _wrong(
                clause,
                evidence,
                target,
                f"the target is quantised as {target.text}, and the contract says {declared}",
                "a quantised target is another target: leave --quantization out, or state it in the contract",
            )
        )
    if method and not captures_only(evidence):
        findings.append(
            _wrong(clause, evidence, drafter if drafter.given else target, *_quantised_drafter(drafter, method))
        )
    if findings:
        return findings
    told = f"the target is loaded as {target.text}" if target.given else "the target is loaded as its checkpoint says"
    return [
        clause.find(
            Verdict.PASSED, evidence.subject, observed=f"{told}, and the drafter as its own", measure=0.0, bound=0.0
        )
    ]


def _drafter_method(evidence: LaunchEvidence, target: Answer) -> tuple[Answer, str]:
    """Give the method that the drafter is loaded with, and the flag that says so, if one does."""
    if evidence.engine == "vllm":
        answer = ask(evidence, "--speculative-config")
        return answer, _plain(str(evidence.speculation.get("quantization") or ""))
    answer = ask(evidence, "--speculative-draft-model-quantization")
    return answer, _plain(answer.text if answer.given else target.text)


def _quantised_drafter(drafter: Answer, method: str) -> tuple[str, str]:
    if drafter.given:
        return f"the drafter is quantised as {method}", "leave its quantisation out: it was trained without"
    told = f"the drafter inherits --quantization {method} from the target, since nothing says otherwise"
    return told, "write --speculative-draft-model-quantization unquant"


def _plain(method: Any) -> str:
    text = str(method or "").lower()
    return "" if text in _UNQUANTISED else text


def _wrong(clause: Clause, evidence: LaunchEvidence, answer: Answer, observed: str, hint: str) -> Finding:
    where = where_of(evidence, answer.argument)
    return clause.find(
        Verdict.FAILED, evidence.subject, observed=observed, where=where, measure=1.0, bound=0.0, hint=hint
    )
