"""The built-in capture on every kind of decoder: right against the target, and each way of being wrong is told."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects import Subject as Named

WRONG = """
from eagle3_contracts import Captured
from eagle3_contracts.subjects.captures.hooks import open_transformers_capture
from eagle3_contracts.subjects.captures.padding import pad_batch
from eagle3_contracts.subjects.targets.hf_loading import load_model
import torch

FOLDER = {folder!r}


def hidden_states(contract):
    '''Capture by output_hidden_states, index n included: the trap.'''
    model = load_model(FOLDER)

    def capture(batch):
        ids, mask = pad_batch(batch)
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        planes = [states[plane.boundary] for plane in contract.stored_planes()]
        return [Captured(list(one), [p[row, : len(one)] for p in planes]) for row, one in enumerate(batch)]

    return capture


def changed(change):
    def make(contract):
        inner = open_transformers_capture(contract, FOLDER, "float32")

        def capture(batch):
            return [Captured(one.token_ids, change(one.planes)) for one in inner(batch)]

        return capture

    return make


swapped = changed(lambda planes: planes[[1, 0, 2, 3]])
shifted = changed(lambda planes: planes.roll(1, dims=1))
half = changed(lambda planes: planes.half())


def one_off(contract):
    moved = [p.model_copy(update={{"boundary": p.boundary + 1}}) if p.name == "mid" else p for p in contract.planes]
    return open_transformers_capture(contract.model_copy(update={{"planes": tuple(moved)}}), FOLDER, "float32")


def left_padded(contract):
    '''Pad on the left, and tell the model of no padding: no mask, positions from the padding on.'''
    inner = open_transformers_capture(contract, FOLDER, "float32")

    def capture(batch):
        length = max(len(ids) for ids in batch)
        padded = [[*[0] * (length - len(ids)), *ids] for ids in batch]
        return [Captured(ids, one.planes[:, -len(ids) :]) for ids, one in zip(batch, inner(padded), strict=True)]

    return capture


def without_residual(contract):
    '''Tap the MLP of the layer before, as SGLang's Gemma 3 did with the residual split off.'''
    inner = open_transformers_capture(contract, FOLDER, "float32")
    model = inner.decoder.model

    def capture(batch):
        seen = []
        handle = inner.decoder.layers[2].mlp.register_forward_hook(lambda _, __, output: seen.append(output))
        answers = inner(batch)
        handle.remove()
        for row, one in enumerate(answers):
            one.planes[1] = seen[0][row, : len(one.token_ids)]
        return answers

    return capture
"""


def judge(contract: Contract, value: str, target: Path) -> list[Finding]:
    """Run a capture and judge it by every clause of its stage."""
    evidence = gather_evidence(contract, Named("capture", value, "mine"), Options(target=str(target)))
    return [found for clause in clauses_of("capture") for found in judge_clause(clause, contract, evidence)]


def clauses(findings: list[Finding], verdict: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict is verdict}


def test_the_built_in_capture_conforms(subject: Any) -> None:
    findings = judge(subject.contract, f"transformers:{subject.folder}", subject.folder)
    assert [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}] == []
    assert clauses(findings, Verdict.SKIPPED) == {"capture.norm-range"}


def test_the_target_alone_names_the_model_for_the_built_in_capture(llama: Any) -> None:
    findings = judge(llama.contract, "transformers", llama.folder)
    assert clauses(findings, Verdict.FAILED) | clauses(findings, Verdict.ERRORED) == set()


@pytest.fixture(scope="module")
def wrong_captures(llama: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "wrong_captures.py"
    path.write_text(dedent(WRONG.format(folder=str(llama.folder))))
    return path


@pytest.mark.parametrize(
    ("name", "expected", "told"),
    [
        ("hidden_states", {"capture.final-state"}, "normed already"),
        ("swapped", {"capture.order"}, "3, 1, 5"),
        ("shifted", {"capture.token-shift"}, "token t-1"),
        ("half", {"capture.dtype"}, "float16"),
        ("one_off", {"capture.boundary"}, "4"),
        ("left_padded", {"capture.padded-batch"}, "in a padded batch"),
        ("without_residual", {"capture.residual"}, "without its residual"),
    ],
)
def test_each_way_of_being_wrong_fails_its_own_clause(
    llama: Any, wrong_captures: Path, name: str, expected: set[str], told: str
) -> None:
    findings = judge(llama.contract, f"{wrong_captures}:{name}()", llama.folder)
    assert clauses(findings, Verdict.FAILED) == expected
    assert told in " ".join(item.observed for item in findings if item.verdict is Verdict.FAILED)
