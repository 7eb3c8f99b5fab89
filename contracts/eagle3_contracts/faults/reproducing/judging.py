"""What the clause that must catch a fault says of it, for a reproducer to repeat."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from eagle3_contracts.embedded import NAME, VERSION, golden_root
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.making.artifacts import Artifact, write_artifact
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.run import DOCUMENT, gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject


def find_violation(fault: Fault) -> Finding:
    """Write the fault into a folder of its own, and give the violation that its clause finds."""
    with tempfile.TemporaryDirectory(prefix="eagle3-contracts-") as scratch:
        folder = Path(scratch)
        artifact = write_artifact(fault, folder, sound=False)
        evidence = _gather(fault, artifact, folder)
        findings = judge_clause(clause(fault.clause), artifact.contract, evidence)
        return _without(f"{folder}/", next(item for item in findings if item.verdict is Verdict.FAILED))


def _gather(fault: Fault, artifact: Artifact, folder: Path) -> Any:
    if fault.stage == "server":
        return _ask(fault, artifact)
    if not artifact.arguments:
        return gather_evidence(artifact.contract, DOCUMENT, Options())
    target = folder / "target"
    options = Options(target=str(target) if target.is_dir() else None)
    subject = Subject(fault.stage, f"{folder}/{artifact.arguments[1]}", fault.id)
    evidence = gather_evidence(artifact.contract, subject, options)
    return _install_recorded(evidence) if fault.stage == "golden" else evidence


def _install_recorded(evidence: Any) -> Any:
    """Take for installed what recorded the sound side: a reproducer says nothing of the machine that wrote it."""
    manifest = json.loads((golden_root() / NAME / VERSION / "manifest.json").read_text(encoding="utf-8"))
    return dataclasses.replace(evidence, installed=manifest["versions"])


def _ask(fault: Fault, artifact: Artifact) -> Any:
    """Ask a server that runs here; of one that answers nobody no answer is waited for."""
    from eagle3_contracts.faults.injecting.servers import serve_fault
    from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS
    from eagle3_contracts.subjects.servers import gather
    from eagle3_contracts.subjects.servers.transport import Limits

    limits = Limits(connect=2, read=1.0, total=2.0, size=8 << 20) if fault.id in CONNECTION_FAULTS else None
    with ExitStack() as stack:
        url = stack.enter_context(serve_fault(fault.id))
        named = artifact.arguments[1].rpartition("http://")[0] + url
        return gather(artifact.contract, Subject("server", named, fault.id), Options(), limits)


def _without(folder: str, finding: Finding) -> Finding:
    """Take the folder out of what is said: it is gone."""
    where = dataclasses.replace(finding.where, file=(finding.where.file or "").replace(folder, "") or None)
    texts = {name: getattr(finding, name).replace(folder, "") for name in ("observed", "expected", "hint")}
    return dataclasses.replace(finding, where=where, **texts)
