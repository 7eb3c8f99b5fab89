"""One fault, put into a sound subject and judged by all clauses of its stage and of the document."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.faults import Fault
from eagle3_contracts.faults.injecting.captures import inject_capture
from eagle3_contracts.faults.injecting.checkpoints import inject_checkpoint
from eagle3_contracts.faults.injecting.datasets import inject_dataset
from eagle3_contracts.faults.injecting.documents import inject_document
from eagle3_contracts.faults.injecting.goldens import inject_golden
from eagle3_contracts.faults.injecting.launches import inject_launch
from eagle3_contracts.faults.injecting.loaders import inject_loader
from eagle3_contracts.faults.injecting.servers import StandIn, deform, serve
from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS
from eagle3_contracts.findings import Finding, Verdict, worst
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.transport import Limits

HASTY = Limits(connect=2, read=1.0, total=2.0, size=8 << 20)
"""For servers that never finish."""

Verdicts = dict[str, Verdict]

_SAID_TO_BE_PLAIN = {"server-final-before-norm"}
"""Faults of a server without a drafter, which the user says it has none of."""


def judging_clauses(stage: str) -> tuple[Clause, ...]:
    """Give the clauses that judge a stage's subject: the document's own ones first."""
    document = clauses_of("contract")
    return document if stage == "contract" else (*document, *clauses_of(stage))


def judge_fault(fault: Fault, contract: Contract, folder: Path) -> list[Finding]:
    """Put a fault into a sound subject of its stage (files go to ``folder``) and give all findings."""
    if fault.stage == "contract":
        return _judge("contract", inject_document(fault.id, contract), None)
    changed, evidence = _GATHERERS[fault.stage](fault, contract, folder)
    return [*_judge("contract", changed, None), *_judge(fault.stage, changed, evidence)]


def judge_subject(contract: Contract, subject: Subject, *, target: bool = True) -> list[Finding]:
    """Give the findings of a stage's clauses, with the embedded target unless it is to be left out."""
    return _judge(subject.stage, contract, _gather(contract, subject, target=target))


def judge_server(contract: Contract, stand_in: StandIn, role: str = "") -> list[Finding]:
    """Serve a stand-in and give the findings of the server's clauses; ``role``: what the user says it is."""
    return _judge("server", contract, _gather_server(contract, stand_in, role))


def sum_up(findings: Iterable[Finding]) -> Verdicts:
    """Give one verdict for each clause: the worst of its findings."""
    several: dict[str, list[Verdict]] = {}
    for item in findings:
        several.setdefault(item.clause, []).append(item.verdict)
    return {clause: worst(verdicts) for clause, verdicts in several.items()}


def tell(findings: Iterable[Finding]) -> str:
    """Write out what failed or could not be checked, for the message of an assertion."""
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


def _judge(stage: str, contract: Contract, evidence: Any) -> list[Finding]:
    evidence = contract if stage == "contract" else evidence
    return [finding for item in clauses_of(stage) for finding in judge_clause(item, contract, evidence)]


def _gather(contract: Contract, subject: Subject, *, target: bool = True) -> Any:
    return gather_evidence(contract, subject, Options(target=str(embedded_target()) if target else None))


Gathered = tuple[Contract, Any]


def _gather_capture(fault: Fault, contract: Contract, _: Path) -> Gathered:
    capture = inject_capture(fault.id, contract)
    return contract, _gather(contract, Subject("capture", "faulty:capture", "faulty", capture))


def _gather_loader(fault: Fault, contract: Contract, _: Path) -> Gathered:
    changed, factory = inject_loader(fault.id, contract)
    return changed, _gather(changed, Subject("loader", "faulty:factory", "faulty", factory))


def _gather_files(
    inject: Callable[[str, Contract, Path], tuple[Contract, Path]], *, target: bool = True
) -> Callable[[Fault, Contract, Path], Gathered]:
    def gather_files(fault: Fault, contract: Contract, folder: Path) -> Gathered:
        changed, path = inject(fault.id, contract, folder)
        return changed, _gather(changed, Subject(fault.stage, str(path), "faulty"), target=target)

    return gather_files


def _gather_fault_of_server(fault: Fault, contract: Contract, _: Path) -> Gathered:
    limits = HASTY if fault.id in CONNECTION_FAULTS else None
    role = "plain" if fault.id in _SAID_TO_BE_PLAIN else ""
    return contract, _gather_server(contract, deform(fault.id), role, limits)


def _gather_server(contract: Contract, stand_in: StandIn, role: str, limits: Limits | None = None) -> Any:
    with serve(stand_in) as url:
        subject = Subject("server", f"{role}={url}" if role else url, "faulty")
        return gather(contract, subject, Options(target=str(embedded_target())), limits)


_GATHERERS: dict[str, Callable[[Fault, Contract, Path], Gathered]] = {
    "capture": _gather_capture,
    "dataset": _gather_files(inject_dataset),
    "loader": _gather_loader,
    "checkpoint": _gather_files(inject_checkpoint),
    "launch": _gather_files(inject_launch, target=False),
    "server": _gather_fault_of_server,
    "golden": _gather_files(inject_golden),
}
