"""A sound capture raises nothing, and a fault is caught without a target wherever the answers show it."""

from __future__ import annotations

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import Fault, faults_of
from eagle3_contracts.faults.injecting.captures import inject_capture
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from support.museum.exhibits import judge_subject, sum_up, tell

WEIGHTLESS = [fault for fault in faults_of("capture") if not clause(fault.clause).needs]


@pytest.mark.parametrize("fault", WEIGHTLESS, ids=lambda fault: fault.id)
def test_what_needs_no_target_is_caught_without_one(fault: Fault, contract: Contract) -> None:
    subject = Subject("capture", "faulty:capture", "faulty", inject_capture(fault.id, contract))
    assert sum_up(judge_subject(contract, subject, target=False))[fault.clause] == Verdict.FAILED


def test_a_sound_capture_raises_nothing(contract: Contract) -> None:
    subject = Subject("capture", "sound:capture", "sound", open_embedded_capture(contract))
    assert tell(judge_subject(contract, subject)) == ""


def test_a_faulty_capture_can_be_named_like_any_other(contract: Contract) -> None:
    named = "eagle3_contracts.faults.injecting.captures:capture-ids-one-late()"
    verdicts = sum_up(judge_subject(contract, Subject("capture", named, "named")))
    assert {name for name, verdict in verdicts.items() if verdict == Verdict.FAILED} == {"capture.boundary"}
