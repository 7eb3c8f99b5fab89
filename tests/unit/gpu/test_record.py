"""From what the tests on a GPU find to an evidence file. All findings are made up: no server runs here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.reports.evidence_file import EvidenceFile, Replay, Speed, list_complaints, read_evidence
from eagle3_contracts.subjects.servers.launching import LaunchPlan
from support.gpu.record import IncompleteError, Record
from support.gpu.servers import REPLAYED, VARIANTS, Examined, eager_twin
from support.gpu.speed import REQUESTS

MADE_UP = read_evidence(Path(__file__).parents[1] / "evidence" / "made_up" / "sound.json")


def examined(name: str) -> Examined:
    variant = VARIANTS[name]
    graphs = ("full", "breakable") if variant.graphs else ("disabled", "disabled")
    config = {phase: {"backend": backend} for phase, backend in zip(("decode", "prefill"), graphs, strict=True)}
    backend = "triton" if "triton" in variant.flags else "fa3"
    arguments = ServerArguments(
        {"cuda_graph_config": config}, device="cuda", dtype="bfloat16", attention_backend=backend
    )
    plan = LaunchPlan(variant.role, "cuda", ("serve", "/here/target"))
    return Examined(plan, ServerEvidence(name, arguments=arguments), 1.0, (3, 0) if variant.graphs else (0, 3))


@pytest.fixture
def record() -> Record:
    """A whole run that found nothing wrong."""
    record = Record(load_contract(CONTRACT), {"/here/target": "TARGET"}, began=time.monotonic() - 60)
    record.examined = {name: examined(name) for name in VARIANTS}
    for name in VARIANTS:
        for clause in clauses_of("server"):
            record.findings[name, clause.id] = (clause.find(Verdict.PASSED, name, observed="made up"),)
    for name in REPLAYED:
        values = MADE_UP.replays[0].model_dump() | {"server": name, "twin": eager_twin(name)}
        record.replays[name] = Replay.model_validate(values)
    record.speed = {
        count: Speed.model_validate(MADE_UP.speed[0].model_dump() | {"requests": count}) for count in REQUESTS
    }
    return record


def conclude(record: Record) -> EvidenceFile:
    return record.conclude("made up", ("0" * 40, False), MADE_UP.machine, MADE_UP.versions)


def complaints(record: Record) -> list[str]:
    return list_complaints(conclude(record), CONTRACT, record.contract.digest)


def test_a_whole_run_without_fault_is_evidence(record: Record) -> None:
    """The variants that are started are those that the judgement of evidence files asks for."""
    assert complaints(record) == []
    assert conclude(record).servers["plain"].command == "serve TARGET"


def test_a_run_of_a_part_is_none(record: Record) -> None:
    del record.findings["plain", "server.rows"]
    del record.replays["capture"]
    record.speed.clear()
    with pytest.raises(IncompleteError, match="1 clauses on servers, the replay of capture, the speed of 1 requests"):
        conclude(record)


def test_a_server_that_did_not_start_is_told_and_is_no_evidence(record: Record) -> None:
    lost = ServerEvidence("plain", problems=(Problem("exited", "it ended", "read its log"),))
    record.examined["plain"] = Examined(record.examined["plain"].plan, lost, 1.0)
    found = complaints(record)
    assert "server plain ran on not told, not on cuda" in found
    assert "server plain computed in not told, not in bfloat16" in found


def test_what_fails_is_written_down_and_told(record: Record) -> None:
    (clause,) = [item for item in clauses_of("server") if item.id == "server.rows"]
    record.findings["plain", clause.id] = (clause.find(Verdict.FAILED, "plain", observed="made up"),)
    assert conclude(record).clauses["server.rows"].failed == 1
    assert "server.rows failed 1 times" in complaints(record)
