"""Files of a recording: there, readable, and those that its manifest lists."""

from __future__ import annotations

from collections.abc import Iterator

from eagle3_contracts.clauses.golden.judging import BROKEN, Defect, find_manifest_obstacle, state
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import GoldenEvidence, RecordedFile
from eagle3_contracts.findings import Finding, Where
from eagle3_contracts.registry import Clause

_RESTORE = "bring back the recorded file, or record again: eagle3-contracts record NAME"


def check_readable(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for a manifest or tensor file that is broken; a recording that is not there cannot be checked."""
    del contract
    missing = first_problem(evidence.problems, "missing")
    if missing is not None:
        return [from_problem(missing).finding(clause, evidence.subject)]
    broken = [problem for problem in evidence.problems if problem.kind in BROKEN]
    if not broken and (obstacle := find_manifest_obstacle(evidence)) is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects = [Defect(problem.reason, problem.where, problem.remedy) for problem in broken]
    tensors = sum(len(item.states) + len(item.drafts) for item in evidence.sequences)
    sequences = say_count(len(evidence.sequences), "sequence")
    sound = f"a manifest of {sequences} and {say_count(len(evidence.files), 'file')}, {say_count(tensors, 'tensor')}"
    return state(clause, evidence, defects, sound=sound, expected="a manifest and safetensors files, whole")


def check_integrity(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for each file that is missing, altered, not listed, or listed outside the folder."""
    del contract
    obstacle = find_manifest_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects = [Defect(item.reason, item.where, item.remedy) for item in evidence.problems if item.kind == "unsafe"]
    outside = {defect.where.file for defect in defects}
    defects += [defect for item in evidence.files if item.name not in outside for defect in _judge(item)]
    undigested = any(item.stated and item.found and not item.found[0] for item in evidence.files)
    if undigested and not defects:
        unread = Obstacle("no digest was computed (scan: headers)", "compute them: --contract-scan=sample")
        return [unread.finding(clause, evidence.subject)]
    size = sum(item.found[1] for item in evidence.files if item.found)
    sound = f"{say_count(len(evidence.files), 'file')} of {size:,} bytes, each with its sha256"
    return state(clause, evidence, defects, sound=sound, expected="the listed files, unaltered, and no other")


def _judge(item: RecordedFile) -> Iterator[Defect]:
    where = Where(file=item.name)
    if item.stated is None:
        hint = "move it out of the recording, or record again so that it is listed: eagle3-contracts record NAME"
        yield Defect(f"{item.name} is not listed in manifest.json", where, hint)
    elif item.found is None:
        yield Defect(f"{item.name} is missing", where, _RESTORE)
    elif item.found[1] != item.stated[1]:
        yield Defect(
            f"{item.name} has {item.found[1]:,} bytes, {item.stated[1]:,} were recorded",
            where,
            _RESTORE,
            float(item.found[1]),
            float(item.stated[1]),
        )
    elif item.found[0] and item.found[0] != item.stated[0]:
        told = f"{item.name} has sha256 {item.found[0][:12]}..., {item.stated[0][:12]}... was recorded"
        yield Defect(told, where, _RESTORE)
