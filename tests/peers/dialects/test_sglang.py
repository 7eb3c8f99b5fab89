"""Every SGLang dialect is what the wheel of each release says: setter evaluated, loop read by its form."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from eagle3_contracts.dialects import Dialect, Outcome
from eagle3_contracts.dialects.sglang import DIALECTS, SGLANG
from eagle3_contracts.dialects.sglang_rules import Capture, SglangRule
from eagle3_contracts.dialects.sglang_source import MODELS, early_limits, files_with_setter, read_loop, read_setter
from support.wheels import Sources, large_wheels_wanted

CHANGES = (
    *("0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.16", "0.5.17", "0.5.18"),
    *("0.5.20", "0.5.21", "0.5.22", "0.5.23"),
)
"""Both sides of every change; the releases between are read with PEER_LARGE_WHEELS."""
VERSIONS = SGLANG.read if large_wheels_wanted() else CHANGES

N = 7


def reader(sources: Sources, version: str):
    return sources.reader("sglang", version, "sglang/srt")


def dialect_of(architecture: str, version: str) -> Dialect:
    (found,) = (item for item in DIALECTS if item.applies_to(architecture) and item.covers(version))
    return found


def setter_of(sources: Sources, architecture: str, version: str):
    return read_setter(reader(sources, version), architecture)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("architecture", MODELS)
def test_the_setter_makes_of_every_list_what_the_dialect_says(
    sources: Sources, architecture: str, version: str
) -> None:
    rule = dialect_of(architecture, version).rule
    setter = setter_of(sources, architecture, version)
    if setter is None:
        assert not isinstance(rule, SglangRule), f"{version} has no setter for {architecture}"
        return
    assert isinstance(rule, SglangRule), f"{version} has a setter for {architecture}"
    lists = [*permutations(range(-2, N + 2), 3), *product(range(-1, N + 1), repeat=2), (1,), (N,), ()]
    for ids in lists:
        try:
            made = setter(ids, N)
        except IndexError:
            assert rule.resolve(ids, N).outcome is Outcome.CRASHES_AT_START, ids
            continue
        assert made == rule.setter(ids, N), ids
    default = setter(None, 61)
    assert rule.resolve(None, 61).boundaries == tuple(sorted(default)) or rule.capture is Capture.NOTHING


CAPTURING = [
    (architecture, version)
    for architecture in MODELS
    for version in VERSIONS
    if isinstance(dialect_of(architecture, version).rule, SglangRule)
]


@pytest.mark.parametrize(("architecture", "version"), CAPTURING)
def test_the_forward_pass_captures_where_the_dialect_says(sources: Sources, architecture: str, version: str) -> None:
    rule = dialect_of(architecture, version).rule
    assert isinstance(rule, SglangRule)
    loop = read_loop(reader(sources, version), architecture)
    assert loop.final == (rule.capture is Capture.LAYER_INPUTS_AND_FINAL)
    assert loop.embedding == rule.embedding
    assert loop.packed == rule.packed
    assert loop.residual == (rule.state == "raw")


@pytest.mark.parametrize("version", VERSIONS)
def test_early_releases_reset_graphs_and_fix_the_width_of_fc(sources: Sources, version: str) -> None:
    rule = dialect_of("LlamaForCausalLM", version).rule
    assert isinstance(rule, SglangRule)
    assert early_limits(reader(sources, version)) == (rule.graphs_use_default, rule.planes == 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_kimi_hands_the_list_to_deepseek(sources: Sources, version: str) -> None:
    text = sources.text("sglang", version, "sglang/srt/models/kimi_k25.py")
    handed = "self.language_model.set_eagle3_layers_to_capture(layer_ids)" in text
    rule = dialect_of("KimiK25ForConditionalGeneration", version).rule
    assert handed == isinstance(rule, SglangRule)
    assert not handed or rule == dialect_of("DeepseekV3ForCausalLM", version).rule
    assert "DeepseekV3ForCausalLM" in text


@pytest.mark.parametrize("version", VERSIONS)
def test_unmarked_layers_capture_nothing(sources: Sources, version: str) -> None:
    """MiniMax-M3's loop reads a mark that its setter did not set before 0.5.18."""
    text = reader(sources, version)("models/minimax_m3.py") or ""
    marks = 'setattr(self.model.layers[layer_id], "_is_layer_to_capture", True)' in text
    rule = dialect_of("MiniMaxM3SparseForCausalLM", version).rule
    nothing = not isinstance(rule, SglangRule) or rule.capture is Capture.NOTHING
    assert marks != nothing


def test_no_model_file_with_a_setter_is_overlooked(sources: Sources) -> None:
    """A model that gains a setter is either in the table or named here as left out."""
    left_out = {
        *("apertus.py", "bailing_moe.py", "exaone_moe.py", "glm5_next.py", "longcat_flash.py", "mindspore.py"),
        *("qwen3_5.py", "qwen3_5_text.py"),
    }
    known = {file for model in MODELS.values() for file in (model.file, model.loop_file)}
    wrappers = {"kimi_k25.py", "mllama4.py", "gemma3_mm.py", "qwen3_moe.py"}
    names = sources.names("sglang", SGLANG.last_read, "sglang/srt/models/")
    assert set(files_with_setter(reader(sources, SGLANG.last_read), iter(names))) <= known | wrappers | left_out
