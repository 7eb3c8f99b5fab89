"""Every fault is caught by its clause, and by that and its named companions only; the matrix holds what was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import Fault, list_faults
from eagle3_contracts.findings import Level, Verdict
from support.museum.exhibits import judge_fault, sum_up, tell
from support.museum.matrix import compare_row, describe_row


@pytest.mark.parametrize("fault", list_faults(), ids=lambda fault: fault.id)
def test_a_fault_is_caught(fault: Fault, contract: Contract, tmp_path: Path) -> None:
    findings = judge_fault(fault, contract, tmp_path / "faulty")
    verdicts = sum_up(findings)
    own = {clause: verdict for clause, verdict in verdicts.items() if clause.partition(".")[0] == fault.stage}
    assert {name for name, verdict in own.items() if verdict == Verdict.FAILED} == {
        fault.clause,
        *fault.companions,
    }, tell(findings)
    assert {name for name, verdict in own.items() if verdict == Verdict.ERRORED} == set(fault.unchecked), tell(findings)
    compare_row(fault, describe_row(fault, verdicts))
    of_document = [item for item in findings if item.stage == "contract" != fault.stage]
    assert not [item for item in of_document if item.verdict == Verdict.FAILED and item.level == Level.MUST]
