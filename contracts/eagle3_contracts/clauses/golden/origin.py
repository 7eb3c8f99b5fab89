"""What a recording was made for, from which weights, and by which tools."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from eagle3_contracts.clauses.golden.judging import RECORD, Defect, find_manifest_obstacle, state
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import GoldenEvidence
from eagle3_contracts.findings import Finding, Where
from eagle3_contracts.registry import Clause

_SHOWN = 16


def check_contract(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for a recording of another contract or version, of a changed document, or of other weights (stale)."""
    obstacle = find_manifest_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects, own, weights = [], contract.reference, contract.target.weights_sha256
    if evidence.contract != own:
        told = f"recorded for {evidence.contract[:80]}"
        hint = f"check it against that contract (`eagle3-contracts diff {evidence.contract[:80]} {own}`), or {RECORD}"
        defects.append(Defect(told, _at("contract"), hint))
    elif evidence.digest and evidence.digest != contract.digest:
        told = f"recorded when {own} had the digest {evidence.digest[:_SHOWN]}, it has {contract.digest[:_SHOWN]}"
        hint = f"the document has changed under the same version: give it a version of its own, or {RECORD}"
        defects.append(Defect(told, _at("contract_digest"), hint))
    if weights is not None and evidence.target_digest and evidence.target_digest != weights:
        told = f"recorded from weights with sha256 {evidence.target_digest[:_SHOWN]}, not {weights[:_SHOWN]}"
        defects.append(Defect(told, _at("target_sha256"), f"another target, or a stale recording: {RECORD}"))
    told = f", digest {contract.digest[:_SHOWN]}" if evidence.digest else ""
    known = weights is not None and evidence.target_digest
    told += f", weights {evidence.target_digest[:_SHOWN]}" if known else ""
    found = state(
        clause, evidence, defects, sound=f"recorded for {own}{told}", expected=f"{own}, as it is now, and its target"
    )
    unsaid = [] if evidence.digest else ["which digest the contract had"]
    unsaid += [] if evidence.target_digest else ["which weights the target had"]
    if unsaid:
        silent = Obstacle(f"the manifest does not say {' or '.join(unsaid)}", RECORD, _at(None))
        found.append(silent.finding(clause, evidence.subject))
    return found


def check_versions(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail (should) for each tool that is here in another version than recorded; patches of Python do not count."""
    del contract
    obstacle = find_manifest_obstacle(evidence)
    if obstacle is None and not evidence.versions:
        obstacle = Obstacle("the manifest does not say which tools recorded it", RECORD, _at("versions"))
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    hint = f"if golden.states, golden.logits and golden.drafts pass, it is as good as new; else {RECORD}"
    defects = [
        Defect(f"recorded with {name} {said[:40]}, here is {evidence.installed.get(name) or 'none'}", _at(name), hint)
        for name, said in evidence.versions.items()
        if not _same(name, said, evidence.installed.get(name))
    ]
    told = ", ".join(f"{name} {said}" for name, said in evidence.versions.items())
    return state(clause, evidence, defects, sound=f"recorded with {told}, as installed", expected="the installed tools")


def _same(name: str, recorded: str, installed: str | None) -> bool:
    """Tell whether two versions are the same release; a build's local part (``+cpu``) is none of it."""
    if installed is None:
        return False
    try:
        said, here = Version(recorded), Version(installed)
    except InvalidVersion:
        return recorded == installed
    return said.release[:2] == here.release[:2] if name == "python" else said.public == here.public


def _at(flag: str | None) -> Where:
    return Where(file="manifest.json", flag=flag)
