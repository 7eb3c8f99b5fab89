"""The capture stage on a real target and real text, as users run it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CaptureEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.captures import gather

UNDECIDED = {Verdict.FAILED, Verdict.ERRORED}

WRONG = """
from eagle3_contracts import Captured
from eagle3_contracts.subjects.captures import hooks
from eagle3_contracts.subjects.captures.padding import cut_batch, pad_batch
import torch

MODEL = {model!r}


def one_off(contract):
    '''Ids taken as outputs of layers where they were meant as inputs, and the last layer's output as before.'''
    moved = [p if p.is_final else p.model_copy(update={{"boundary": p.boundary + 1}}) for p in contract.planes]
    return hooks.open_transformers_capture(contract.model_copy(update={{"planes": tuple(moved)}}), MODEL, "float32")


def hidden_states(contract):
    '''The trap: hidden_states[30] of transformers is the state after the final norm.'''
    model = hooks.load_model(MODEL, "float32")

    def capture(batch):
        ids, mask = pad_batch(batch)
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        return cut_batch(batch, [states[plane.boundary] for plane in contract.stored_planes()], "bfloat16")

    return capture


def depth_order(contract):
    '''Planes in another order than declared.'''
    inner = hooks.open_transformers_capture(contract, MODEL, "float32")
    return lambda batch: [Captured(one.token_ids, one.planes[[2, 1, 0, 3]]) for one in inner(batch)]


def next_token(contract):
    '''Row t holds the state of token t + 1; the last one is repeated.'''
    inner = hooks.open_transformers_capture(contract, MODEL, "float32")

    def capture(batch):
        return [Captured(one.token_ids, torch.cat([one.planes[:, 1:], one.planes[:, -1:]], 1)) for one in inner(batch)]

    return capture
"""


def judge(contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    return [found for clause in clauses_of("capture") for found in judge_clause(clause, contract, evidence)]


def test_a_correct_capture_conforms(model_path: Path, texts: list[list[int]], variant: tuple[str, Contract]) -> None:
    computed, contract = variant
    subject = Subject("capture", f"transformers+{computed}:{model_path}", "built in")
    findings = judge(contract, gather(contract, subject, Options(target=str(model_path)), texts))
    assert [item for item in findings if item.verdict in UNDECIDED] == []
    assert {item.verdict for item in findings} == {Verdict.PASSED}


def test_the_seeded_requests_do_as_well_as_text(model_path: Path) -> None:
    from support.smollm2 import stored_in

    contract = stored_in("bfloat16")
    evidence = gather(contract, Subject("capture", "transformers", "built in"), Options(target=str(model_path)))
    findings = judge(contract, evidence)
    assert [item for item in findings if item.verdict in UNDECIDED and item.level == "must"] == []


@pytest.mark.parametrize(
    ("name", "clause", "told"),
    [
        ("one_off", "capture.boundary", "3, 16, 28, 30 pre-norm"),
        ("hidden_states", "capture.final-state", "normed already"),
        ("depth_order", "capture.order", "27, 15, 2, 30 pre-norm"),
        ("next_token", "capture.token-shift", "token t+1"),
    ],
)
def test_a_wrong_capture_fails_the_clause_that_names_its_fault(
    model_path: Path, texts: list[list[int]], tmp_path: Path, name: str, clause: str, told: str
) -> None:
    from support.smollm2 import stored_in

    contract = stored_in("bfloat16")
    path = tmp_path / "wrong.py"
    path.write_text(dedent(WRONG.format(model=str(model_path))))
    subject = Subject("capture", f"{path}:{name}()", name)
    findings = judge(contract, gather(contract, subject, Options(target=str(model_path)), texts[:2]))
    failed = [item for item in findings if item.verdict is Verdict.FAILED and item.level == "must"]
    assert {item.clause for item in failed} == {clause}
    assert told in failed[0].observed
    assert np.isfinite(failed[0].measure or 0.0)
