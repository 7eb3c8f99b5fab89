"""What every clause says of a sound export, of each of its faults, and of files that cannot be read: kept in files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence, Problem
from eagle3_contracts.faults import faults_of
from eagle3_contracts.faults.injecting.checkpoints import inject_checkpoint, prepare_export
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.run import judge_clause
from support.snapshots import compare_snapshot, list_unused, tell_findings

SNAPSHOTS = Path(__file__).with_name("snapshots")
UNREAD = CheckpointEvidence(
    "drafter",
    problems=(
        Problem("config", "is no JSON: Expecting value", "export the checkpoint again", Where("config.json")),
        Problem("truncated", "ends after 64 of 4,096 bytes", "export it again", Where("model.safetensors")),
    ),
)
CLAUSES = clauses_of("checkpoint")
OPTIONAL = {"checkpoint.declaration"}
"""What a sound export need not have: a stamp."""


Sound = tuple[Contract, CheckpointEvidence]


@pytest.fixture(scope="module")
def sound(
    contract: Contract, read: Callable[..., CheckpointEvidence], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Sound]:
    """Give the contract and the evidence of a sound export, of the recorded drafter or of a drawn one: read once."""

    @cache
    def gather(*, recorded: bool) -> Sound:
        folder = tmp_path_factory.mktemp("sound") / "drafter"
        conforming, export = prepare_export(contract, folder, "specforge", recorded=recorded)
        return conforming, read(conforming, export.write())

    return gather


@pytest.fixture
def cases(
    clause: Clause,
    contract: Contract,
    sound: Callable[..., Sound],
    read: Callable[..., CheckpointEvidence],
    tmp_path: Path,
) -> dict[str, list[Finding]]:
    conforming, evidence = sound(recorded=clause.id == "checkpoint.drafted-tokens")
    found = {"sound": judge_clause(clause, conforming, evidence)}
    for fault in faults_of("checkpoint"):
        if fault.clause == clause.id:
            changed, folder = inject_checkpoint(fault.id, contract, tmp_path / fault.id)
            found[fault.id] = judge_clause(clause, changed, read(changed, folder))
    found["nothing read"] = judge_clause(clause, conforming, UNREAD)
    return found


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_messages_are_as_recorded_and_stand_alone(clause: Clause, cases: dict[str, list[Finding]]) -> None:
    text = "\n".join(f"== {name} ==\n{tell_findings(findings)}\n" for name, findings in cases.items())
    compare_snapshot(SNAPSHOTS / f"{clause.id}.txt", text)
    for name, findings in cases.items():
        verdicts = {item.verdict for item in findings}
        assert Verdict.FAILED in verdicts or name in {"sound", "nothing read"}
        for item in findings:
            assert item.clause == clause.id
            assert item.observed
            assert item.expected
            if item.verdict is Verdict.FAILED:
                assert item.hint
                assert item.bound is not None
    sound = Verdict.SKIPPED if clause.id in OPTIONAL else Verdict.PASSED
    assert {item.verdict for item in cases["sound"]} == {sound}


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.id)
def test_nothing_passes_of_files_that_cannot_be_read(clause: Clause, contract: Contract) -> None:
    verdicts = {item.verdict for item in judge_clause(clause, contract, UNREAD)}
    assert verdicts <= {Verdict.FAILED, Verdict.ERRORED}


def test_no_snapshot_is_left_over() -> None:
    assert list_unused(SNAPSHOTS, [f"{clause.id}.txt" for clause in CLAUSES]) == []
