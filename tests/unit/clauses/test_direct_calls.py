"""A check that is called without what it needs says so by itself, whatever ``run`` sees to before it calls one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from eagle3_contracts.evidence import CaptureEvidence, DatasetEvidence, TargetComparison
from eagle3_contracts.findings import Finding, Rung
from eagle3_contracts.registry import Clause, clauses_of
from support.judging.capture_cases import CRASHED
from support.judging.comparisons import compare
from support.judging.dataset_evidence import UNREAD
from support.judging.documents import toy_contract
from support.judging.evidence import sound_capture, sound_dataset
from support.snapshots import compare_snapshot, tell_findings

CLAUSES = [item for stage in ("capture", "dataset") for item in clauses_of(stage) if item.needs]
SNAPSHOTS = Path(__file__).with_name("direct_snapshots")
PARTIAL = TargetComparison(Rung.NONE, 0)


def call(item: Clause, evidence: CaptureEvidence | DatasetEvidence) -> Sequence[Finding]:
    """Call a clause's check as ``run`` does, but for what ``run`` decides before."""
    check = getattr(import_module(f"eagle3_contracts.clauses.{item.stage}"), item.check_name)
    found: Sequence[Finding] = check(item, toy_contract(), evidence)
    return found


def tell(item: Clause, evidence: CaptureEvidence | DatasetEvidence) -> str:
    """Write out what a check finds; every finding is its clause's, on its subject."""
    found = call(item, evidence)
    assert {(finding.clause, finding.subject) for finding in found} == {(item.id, evidence.subject)}
    return tell_findings(found)


@pytest.mark.parametrize("stage", ["capture", "dataset"])
def test_a_check_says_what_it_lacks(stage: str) -> None:
    sound, unread = (sound_capture(), CRASHED) if stage == "capture" else (sound_dataset(), UNREAD)
    lacking = {
        "no target": dataclasses.replace(sound, comparison=None),
        "a target that tells nothing": dataclasses.replace(sound, comparison=PARTIAL),
        "nothing to judge": dataclasses.replace(unread, comparison=compare()),
        "neither": dataclasses.replace(unread, comparison=None),
    }
    blocks = [
        f"== {item.id}: {name} ==\n{tell(item, evidence)}\n"
        for item in CLAUSES
        if item.stage == stage
        for name, evidence in lacking.items()
    ]
    compare_snapshot(SNAPSHOTS / f"{stage}.txt", "\n".join(blocks))


def test_no_snapshot_is_left_over() -> None:
    assert {path.name for path in SNAPSHOTS.iterdir()} == {"capture.txt", "dataset.txt"}
