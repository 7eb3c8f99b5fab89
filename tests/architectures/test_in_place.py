"""Layers that add to their input in place, and taps that keep a reference: what each way of overwriting shows."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects import Subject as Named
from eagle3_contracts.subjects.captures import gather
from eagle3_contracts.subjects.targets import open_target

CODE = """
import types
import torch
from eagle3_contracts import Captured
from eagle3_contracts.subjects.captures.hooks import HookedCapture
from eagle3_contracts.subjects.targets.hf_loading import load_model
from eagle3_contracts.subjects.targets.taps import find_decoder


def whole(layer, hidden_states, **more):
    '''Add attention and MLP to the tensor that came in: one buffer for the whole model.'''
    hidden_states += layer.self_attn(hidden_states=layer.input_layernorm(hidden_states), **more)[0]
    hidden_states += layer.mlp(layer.post_attention_layernorm(hidden_states))
    return hidden_states


def halfway(layer, hidden_states, **more):
    '''Add the attention in place, the MLP into a new tensor.'''
    hidden_states += layer.self_attn(hidden_states=layer.input_layernorm(hidden_states), **more)[0]
    return hidden_states + layer.mlp(layer.post_attention_layernorm(hidden_states))


def make(forward, gather=list, keep=lambda state: state):
    def factory(contract):
        model = load_model({folder!r})
        modules = [*model.model.layers, model.model.norm]
        for layer in model.model.layers:
            layer.forward = types.MethodType(forward, layer)

        def capture(tokens):
            seen = []
            taps = [
                modules[plane.boundary].register_forward_pre_hook(lambda _, args: seen.append(keep(args[0][0])))
                for plane in contract.stored_planes()
            ]
            with torch.no_grad():
                model(torch.tensor([tokens]))
            for tap in taps:
                tap.remove()
            return gather(seen)

        return capture

    return factory


def built_in(contract):
    model = load_model({folder!r})
    for layer in model.model.layers:
        layer.forward = types.MethodType(whole, layer)
    return HookedCapture(find_decoder(model, "in place"), contract.stored_planes(), "float32", "float32")


references = make(whole)
stacked = make(whole, torch.stack)
copied = make(whole, keep=torch.clone)
halfway_references = make(halfway)
halfway_copied = make(halfway, keep=torch.clone)
"""


@pytest.fixture(scope="module")
def code(llama: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "in_place.py"
    path.write_text(dedent(CODE.format(folder=str(llama.folder))))
    return path


def judge(llama: Any, code: Path, name: str) -> dict[str, Finding]:
    subject = Named("capture", f"{code}:{name}()", name)
    evidence = gather(llama.contract, subject, Options(target=str(llama.folder)))
    return {
        item.clause: item for clause in clauses_of("capture") for item in judge_clause(clause, llama.contract, evidence)
    }


@pytest.mark.parametrize("name", ["built_in", "copied", "halfway_copied"])
def test_a_tap_that_copies_is_right_whatever_the_layers_do(llama: Any, code: Path, name: str) -> None:
    findings = judge(llama, code, name)
    assert {item.clause for item in findings.values() if item.verdict is Verdict.FAILED} == set()
    assert findings["capture.boundary"].verdict is Verdict.PASSED


def test_references_to_one_buffer_lie_on_common_memory(llama: Any, code: Path) -> None:
    finding = judge(llama, code, "references")["capture.aliasing"]
    assert finding.verdict is Verdict.FAILED
    assert "planes low and mid lie on common memory" in finding.observed


def test_one_buffer_stacked_at_the_end_gives_identical_planes(llama: Any, code: Path) -> None:
    finding = judge(llama, code, "stacked")["capture.aliasing"]
    assert finding.verdict is Verdict.FAILED
    assert "planes low and mid are bit-identical" in finding.observed


def test_a_plane_overwritten_halfway_is_told_by_the_target(llama: Any, code: Path) -> None:
    """Each plane has memory of its own, that the next layer's attention was added to."""
    findings = judge(llama, code, "halfway_references")
    assert findings["capture.aliasing"].verdict is Verdict.FAILED
    assert "plane low is the stream halfway through layer 1" in findings["capture.aliasing"].observed
    assert findings["capture.boundary"].verdict is not Verdict.PASSED


def test_a_plane_overwritten_halfway_is_the_state_between_two_sublayers(llama: Any, code: Path) -> None:
    """What that rests on: R[k+1] without the last sublayer's output is exactly this plane."""
    subject = Named("capture", f"{code}:halfway_references()", "halfway")
    (request, *_) = gather(llama.contract, subject, Options()).alone
    states = open_target(str(llama.folder), llama.contract).reference(request.given)
    assert states.branches is not None
    for plane, values in zip(llama.contract.stored_planes()[:-1], request.planes, strict=False):
        between = states.boundaries[plane.boundary + 1] - states.branches[plane.boundary]
        np.testing.assert_allclose(values, between, rtol=1e-3, atol=1e-4)
