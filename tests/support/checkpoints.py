"""Contracts that promise engines, and what the clauses say of an exported drafter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject


def promise_engines(contract: Contract, engines: Mapping[str, str]) -> Contract:
    """Give the contract with engines that it serves, up to the drafter's own positions."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["serving"] = {"engines": dict(engines), "context_length": contract.drafter.max_position}
    return Contract.model_validate_json(json.dumps(document))


def judge_export(contract: Contract, folder: Path, form: str) -> list[Finding]:
    """Give every finding on an exported drafter; its form must be the one expected."""
    evidence = gather_evidence(contract, Subject("checkpoint", str(folder), form), Options())
    assert evidence.form == form, evidence.problems
    return [finding for item in clauses_of("checkpoint") for finding in judge_clause(item, contract, evidence)]


def clauses_with(findings: list[Finding], *verdicts: Verdict) -> set[str]:
    """Name the clauses with one of these verdicts, without their stage."""
    return {item.clause.partition(".")[2] for item in findings if item.verdict in verdicts}


def tell(findings: list[Finding]) -> str:
    """Write out what failed or could not be checked."""
    bad = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed} ({item.expected})" for item in bad)
