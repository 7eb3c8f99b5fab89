"""A version that was not read is verified by its own source or not at all; every difference is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eagle3_contracts.dialects import Dialect, NotVerified, find_dialect
from eagle3_contracts.dialects.installed import verify_installed, verify_source
from eagle3_contracts.dialects.sglang import AFTER_LAST, SGLANG
from support.sglang_sources import (
    ALONE,
    IF_FIRST_IS_1,
    PLUS_ONE,
    SETTER,
    UNSHIFTED,
    files,
    forward,
    marking_setters,
    model_class,
    setter,
)

LLAMA = "LlamaForCausalLM"
PACKER = "AuxHiddenStatePacker(len(self.layers_to_capture))"
UNLESS_N = (
    f"{UNSHIFTED} if layer_ids and max(layer_ids) == self.config.num_hidden_layers else [k + 1 for k in layer_ids]"
)


def llama(set_ids: str = "", loop: str = "") -> dict[str, str]:
    text = model_class("LlamaForCausalLM", set_ids or setter()) + model_class(
        "LlamaModel", loop or forward(first=ALONE)
    )
    return files(llama=text)


def deepseek(set_ids: str = "", loop: str = "") -> dict[str, str]:
    loop = loop or forward(first=ALONE, container=PACKER)
    text = model_class("DeepseekV3ForCausalLM", set_ids or setter(IF_FIRST_IS_1)) + model_class("DeepseekV2Model", loop)
    return files(deepseek_v2=text)


def gemma_3(loop: str) -> dict[str, str]:
    text = model_class("Gemma3ForCausalLM", setter()) + model_class("Gemma3TextModel", loop)
    return files(gemma3_causal=text)


def qwen_moe(set_ids: str, *inner: str) -> dict[str, str]:
    text = model_class("Qwen2MoeForCausalLM", set_ids) + model_class("Qwen2MoeModel", *inner)
    return files(qwen2_moe=text)


def gpt_oss() -> dict[str, str]:
    loop = forward(first=ALONE, last="num_layers")
    return files(gpt_oss=model_class("GptOssForCausalLM", setter(UNLESS_N)) + model_class("GptOssModel", loop))


OUTER, INNER = marking_setters()
MARKED_LOOP = forward(first=ALONE, test="layer._is_layer_to_capture")
BRANCH = forward(taken=ALONE, last="self.end_layer")
AS_READ = {
    LLAMA: llama(),
    "DeepseekV3ForCausalLM": deepseek(),
    "KimiK25ForConditionalGeneration": deepseek(),
    "GptOssForCausalLM": gpt_oss(),
    "Gemma3ForCausalLM": gemma_3(BRANCH),
    "Gemma3ForConditionalGeneration": gemma_3(BRANCH),
    "Qwen2MoeForCausalLM": qwen_moe(OUTER, INNER, MARKED_LOOP),
}


@pytest.mark.parametrize("architecture", AS_READ)
def test_a_source_that_says_what_was_read_verifies_its_version_alone(architecture: str) -> None:
    newest = find_dialect("sglang", SGLANG.last_read, architecture)
    assert isinstance(newest, Dialect)
    found = verify_source(AS_READ[architecture].get, AFTER_LAST, architecture)
    assert isinstance(found, Dialect), found
    assert found.rule == newest.rule
    assert found.architectures == newest.architectures
    assert found.versions == f"=={AFTER_LAST}"
    assert found.source == f"{newest.source}, read from the installed {AFTER_LAST}"
    assert not found.covers(SGLANG.last_read)


def test_wrappers_are_read_where_they_hand_the_list_on() -> None:
    assert isinstance(verify_source(deepseek().get, AFTER_LAST, "KimiK25ForConditionalGeneration"), Dialect)
    found = verify_source(llama().get, AFTER_LAST, "KimiK25ForConditionalGeneration")
    assert isinstance(found, NotVerified)
    assert found.architecture == "KimiK25ForConditionalGeneration"
    both = llama() | files(llama4=model_class("Llama4Model", forward(first=ALONE)))
    assert isinstance(verify_source(both.get, AFTER_LAST, "Llama4ForConditionalGeneration"), Dialect)


MARKED = "Qwen2MoeForCausalLM"
UNMARKED = setter()
TYPED = setter().replace("self.capture_aux_hidden_states = True", "self.planes = CaptureOptions()")
KEYED = setter().replace("if not get_pp_group().is_last_rank", "if self.stages['last']")


@pytest.mark.parametrize(
    ("architecture", "texts", "says"),
    [
        ("NewForCausalLM", llama(), "this architecture's source is not known"),
        (LLAMA, {}, "its source has another form: no file models/llama.py"),
        (LLAMA, files(llama="def broken("), "its source has another form: it does not parse: '(' was never closed"),
        (LLAMA, files(llama="x = '\0'"), "its source has another form: it does not parse: "),
        (LLAMA, llama(loop="def step(self): pass"), "its source has another form: no method LlamaModel.forward"),
        (
            LLAMA,
            llama(loop=forward(test="number in self.taps")),
            "its source has another form: llama.py: LlamaModel.forward takes no planes in a form that is known",
        ),
        (LLAMA, llama(set_ids="size = 1"), f"its model class has no {SETTER}"),
        (LLAMA, llama(setter(UNSHIFTED)), "its setter makes [-2, -1, 0] of [-2, -1, 0] for 7 layers, the dialect "),
        (LLAMA, llama(setter("sorted([k + 1 for k in layer_ids])")), "its setter makes [-1, 0, 1] of [-2, 0, -1] for"),
        (
            LLAMA,
            llama(setter(PLUS_ONE, "[1, 2, 3]")),
            "its setter makes [1, 2, 3] of no list for 7 layers, the dialect",
        ),
        (LLAMA, llama(TYPED), "its setter cannot be run alone: NameError: name 'CaptureOptions' is not defined"),
        (LLAMA, llama(KEYED), "its setter cannot be run alone: AttributeError: "),
        (LLAMA, qwen_moe(OUTER, INNER, MARKED_LOOP), "its source has another form: no file models/llama.py"),
        (
            MARKED,
            qwen_moe(UNMARKED, MARKED_LOOP),
            "its setter makes [-1, 0, 7] of [-2, -1, 6] for 7 layers, the dialect an IndexError",
        ),
        (
            "DeepseekV3ForCausalLM",
            deepseek(setter(IF_FIRST_IS_1) + "    self.layers[self.model.layers_to_capture[0]]\n"),
            "its setter cannot be run alone: AttributeError: ",
        ),
        (
            "DeepseekV3ForCausalLM",
            deepseek(setter(IF_FIRST_IS_1) + "    self.model.layers[self.model.layers_to_capture[-1]]\n"),
            "its setter makes an IndexError of [-2, -1, 7] for 7 layers, the dialect [-2, -1, 7]",
        ),
    ],
)
def test_every_difference_is_told(architecture: str, texts: dict[str, str], says: str) -> None:
    found = verify_source(texts.get, AFTER_LAST, architecture)
    assert isinstance(found, NotVerified)
    assert found.reason.startswith(says)
    assert (found.tool, found.version, found.architecture) == ("sglang", AFTER_LAST, architecture)
    assert found.last_read == SGLANG.last_read


@pytest.mark.parametrize(
    ("architecture", "texts", "place"),
    [
        (LLAMA, llama(loop=forward(first=ALONE, last="num_layers")), "final=True"),
        (LLAMA, llama(loop=forward()), "embedding=False"),
        (LLAMA, llama(loop=forward(first=ALONE, container=PACKER)), "packed=True"),
        (LLAMA, llama(loop=forward(first=ALONE, taken=ALONE)), "residual=False"),
        ("DeepseekV3ForCausalLM", deepseek(loop=forward(first=ALONE)), "packed=False"),
        ("Gemma3ForCausalLM", gemma_3(forward(taken=ALONE)), "final=False"),
        (
            "Gemma3ForCausalLM",
            gemma_3(forward(taken=ALONE, last="self.end_layer", layer="hidden_states = layer(hidden_states)")),
            "residual=True",
        ),
    ],
)
def test_planes_that_are_taken_elsewhere_are_told(architecture: str, texts: dict[str, str], place: str) -> None:
    found = verify_source(texts.get, AFTER_LAST, architecture)
    assert isinstance(found, NotVerified)
    assert found.reason.startswith("its forward pass takes planes elsewhere: Loop(")
    assert place in found.reason


def test_a_version_before_the_setter_has_no_rule_to_be_held_against() -> None:
    found = verify_source(gemma_3(BRANCH).get, "0.5.8", "Gemma3ForCausalLM")
    assert isinstance(found, NotVerified)
    assert found.reason == "this architecture's source is not known"


def install(folder: Path, texts: dict[str, str], version: str = AFTER_LAST) -> None:
    record = folder / f"sglang-{version}.dist-info" / "METADATA"
    for path, text in {f"sglang/srt/{path}": text for path, text in texts.items()}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    record.parent.mkdir(parents=True)
    record.write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n", encoding="utf-8")


def test_the_installed_source_is_read_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prose = "# § schräg\n"
    install(tmp_path, {path: prose + text for path, text in llama().items()})
    (tmp_path / "sglang" / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = verify_installed(LLAMA)
    assert isinstance(found, Dialect), found
    assert found.versions == f"=={AFTER_LAST}"
    missing = verify_installed("Qwen2ForCausalLM")
    assert isinstance(missing, NotVerified)
    assert missing.reason == "its source has another form: no file models/qwen2.py"
    assert missing.version == AFTER_LAST


def test_a_source_that_is_no_text_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, llama())
    (tmp_path / "sglang/srt/models/llama.py").write_bytes(bytes(range(256)))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = verify_installed(LLAMA)
    assert isinstance(found, NotVerified)
    assert found.reason.startswith("its source has another form: it does not parse: ")


def test_where_sglang_is_not_installed_nothing_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    found = verify_installed(LLAMA)
    assert isinstance(found, NotVerified)
    assert str(found) == (
        f"not verified for sglang with LlamaForCausalLM, last read {SGLANG.last_read}: SGLang is not installed here"
    )
