"""A target opens as the strongest reference its tensors allow, and never as a target that it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets import MissingPartError, PartialTarget, open_target

EVERYTHING = {"embedding", "norm", "head", "layers"}


def test_the_whole_target_is_full(tiny: Contract) -> None:
    target = open_target(str(embedded_target()), tiny)
    assert target.rung is Rung.FULL
    assert target.holds == EVERYTHING
    assert target.notes == ()


@pytest.mark.parametrize(
    ("keep", "rung", "holds"),
    [
        (("model.norm",), Rung.NORM, {"norm"}),
        (("embed_tokens",), Rung.EMBEDDING, {"embedding"}),
        (("embed_tokens", "model.norm"), Rung.EMBEDDING, {"embedding", "norm"}),
        (("model.norm", "lm_head"), Rung.HEAD, {"norm", "head"}),
        (("model.norm", "lm_head", "embed_tokens"), Rung.HEAD, {"norm", "head", "embedding"}),
    ],
)
def test_a_partial_file_reaches_the_rung_of_its_tensors(
    cut: Callable[..., Path], tiny: Contract, keep: tuple[str, ...], rung: Rung, holds: set[str]
) -> None:
    target = open_target(str(cut(*keep)), tiny)
    assert target.rung is rung
    assert target.holds == holds
    assert any("the layers cannot be run" in note for note in target.notes)
    with pytest.raises(MissingPartError):
        target.reference([1])


@pytest.mark.parametrize("prefix", ["", "language_model.model.", "model.language_model."])
def test_a_wrapper_may_put_the_tensors_deeper(cut: Callable[..., Path], tiny: Contract, prefix: str) -> None:
    assert open_target(str(cut("embed_tokens", "model.norm", prefix=prefix)), tiny).holds == {"embedding", "norm"}


def test_what_is_missing_says_so(cut: Callable[..., Path], tiny: Contract) -> None:
    target = open_target(str(cut("model.norm")), tiny)
    assert "not at hand: embedding, head" in target.notes
    for ask in (lambda: target.embedding_rows([1]), lambda: target.logits(target.norm_vector[None])):
        with pytest.raises(MissingPartError, match=r"part\.safetensors holds no (embedding|head)"):
            ask()


def test_a_tied_head_is_the_embedding(cut: Callable[..., Path], altered: Callable[..., Contract]) -> None:
    part = str(cut("embed_tokens", "model.norm"))
    assert open_target(part, altered(tied_embedding=True)).rung is Rung.HEAD
    assert open_target(part, altered()).rung is Rung.EMBEDDING


def test_a_missing_layer_lowers_the_rung(copy: Path, altered: Callable[..., Contract]) -> None:
    weights = load_file(copy / "model.safetensors")
    del weights["model.layers.3.mlp.up_proj.weight"]
    save_file(weights, copy / "model.safetensors")
    target = open_target(str(copy), altered())
    assert target.rung is Rung.HEAD
    assert any("1 weights" in note and "model.layers.3.mlp.up_proj.weight" in note for note in target.notes)


@pytest.mark.parametrize("without", ["nothing", "config.json"])
@pytest.mark.parametrize(
    ("kept", "rung"),
    [(("model.norm", "lm_head"), Rung.HEAD), (("embed_tokens",), Rung.EMBEDDING)],
    ids=["head", "embed"],
)
def test_a_folder_with_a_part_is_not_held_against_the_digest_of_the_whole(
    copy: Path, tiny: Contract, kept: tuple[str, ...], rung: Rung, without: str
) -> None:
    weights = load_file(copy / "model.safetensors")
    save_file({key: weights[key] for key in weights if any(name in key for name in kept)}, copy / "model.safetensors")
    (copy / without).unlink(missing_ok=True)
    target = open_target(str(copy), tiny)
    assert target.rung is rung
    assert any("weights_sha256 was not compared: this is a part" in note for note in target.notes)


def shard(folder: Path) -> list[str]:
    """Split the weights in two files with an index, as transformers shards them."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    split = {key: names["layers" in key and int(key.split(".")[2]) > 3] for key in weights}
    for name in names:
        save_file({key: weights[key] for key, place in split.items() if place == name}, folder / name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": split}))
    return names


def test_shards_are_read_through_their_index(
    copy: Path, altered: Callable[..., Contract], reference: Any, tokens: Any
) -> None:
    shard(copy)
    (copy / "stray.safetensors").write_bytes(b"not looked at")
    target = open_target(str(copy), altered(), route="numpy")
    assert target.rung is Rung.FULL
    assert (target.reference(tokens).logits == reference.logits).all()


def test_a_missing_shard_lowers_the_rung(copy: Path, tiny: Contract) -> None:
    names = shard(copy)
    (copy / names[1]).unlink()
    target = open_target(str(copy), tiny)
    assert target.rung is Rung.HEAD
    assert any(names[1] in note for note in target.notes)
    assert any("weights_sha256 was not compared" in note for note in target.notes)


def test_another_architecture_without_transformers_keeps_its_parts(
    copy: Path, edit_config: Callable[..., None], altered: Callable[..., Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = "eagle3_contracts.subjects.targets.opening"
    monkeypatch.setattr(f"{opening}.find_spec", lambda _: None)
    edit_config(architectures=["Qwen3ForCausalLM"])
    target = open_target(str(copy), altered(architecture="Qwen3ForCausalLM"))
    assert isinstance(target, PartialTarget)
    assert target.rung is Rung.HEAD
    assert any("pip install 'eagle3-contracts[transformers]'" in note for note in target.notes)


def test_a_rope_that_is_not_computed_natively_is_not_guessed(
    copy: Path, edit_config: Callable[..., None], altered: Callable[..., Contract], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagle3_contracts.subjects.targets.opening.find_spec", lambda _: None)
    edit_config(rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4})
    target = open_target(str(copy), altered())
    assert target.rung is Rung.HEAD
    assert any("rope_type is 'yarn'" in note for note in target.notes)


@pytest.mark.parametrize(
    ("change", "found", "expected"),
    [
        ({"hidden_size": 128}, "hidden_size is 128", "expected 64"),
        ({"num_hidden_layers": 9}, "num_hidden_layers is 9", "expected 8"),
        ({"vocab_size": 300}, "vocab_size is 300", "expected 256"),
        (
            {"architectures": ["Qwen3ForCausalLM"]},
            "architectures is ['Qwen3ForCausalLM']",
            "expected 'LlamaForCausalLM'",
        ),
        ({"rms_norm_eps": 1e-6}, "the norm's eps is 1e-06", "expected 1e-05"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings is True", "expected False"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantised (fp8)", "expected none"),
    ],
)
def test_a_config_that_contradicts_the_contract_is_refused(
    copy: Path, edit_config: Callable[..., None], tiny: Contract, change: dict[str, Any], found: str, expected: str
) -> None:
    edit_config(**change)
    with pytest.raises(SubjectError) as caught:
        open_target(str(copy), tiny)
    message = str(caught.value)
    for part in (str(copy / "config.json"), found, expected, tiny.reference, "remedy:"):
        assert part in message


def test_all_contradictions_come_at_once(copy: Path, edit_config: Callable[..., None], tiny: Contract) -> None:
    edit_config(hidden_size=128, vocab_size=300)
    with pytest.raises(SubjectError, match=r"hidden_size is 128.*vocab_size is 300"):
        open_target(str(copy), tiny)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"norm": {"kind": "rms", "plus_one": True, "eps": 1e-5}}, "target.norm.plus_one is True, computed is False"),
        ({"norm": {"kind": "layer", "eps": 1e-5}}, "target.norm.kind is 'layer', computed is 'rms'"),
        ({"embed_scale": 8.0}, "target.embed_scale is 8.0, computed is 1.0"),
        ({"logit_scale": 0.5}, "target.logit_scale is 0.5, computed is 1.0"),
        ({"logit_softcap": 30.0}, "target.logit_softcap is 30.0, computed is None"),
    ],
)
def test_a_contract_that_says_of_a_llama_what_no_llama_does_is_refused(
    altered: Callable[..., Contract], target: dict[str, Any], said: str
) -> None:
    with pytest.raises(SubjectError, match=re.escape(said)):
        open_target(str(embedded_target()), altered(**target))


def test_other_weights_are_refused(copy: Path, tiny: Contract) -> None:
    weights = load_file(copy / "model.safetensors")
    weights["model.norm.weight"][0] += 1
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SubjectError, match=rf"the weights have sha256 [0-9a-f]{{64}}, {re.escape(CONTRACT)} is about"):
        open_target(str(copy), tiny)


@pytest.mark.parametrize("name", ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"])
def test_parts_of_another_size_are_refused(tmp_path: Path, tiny: Contract, name: str) -> None:
    whole = load_file(embedded_target() / "model.safetensors")[name]
    save_file({name: whole[: len(whole) // 2].clone()}, tmp_path / "half.safetensors")
    with pytest.raises(SubjectError, match=rf"{name} in half\.safetensors is \[\d+.*, expected \[(64|256)"):
        open_target(str(tmp_path / "half.safetensors"), tiny)


def test_layers_that_contradict_the_config_are_refused(
    copy: Path, edit_config: Callable[..., None], tiny: Contract
) -> None:
    edit_config(intermediate_size=96)
    with pytest.raises(SubjectError, match=r"mlp\.gate_proj\.weight is \[80, 64\], expected \[96, 64\]"):
        open_target(str(copy), tiny)


def test_a_path_that_is_no_target_says_what_one_is(tmp_path: Path, tiny: Contract) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"")
    wrong = {
        "absent": "does not exist",
        "notes.txt": "is no .safetensors file",
        "empty": "holds no .safetensors file",
        "pickled": "only pytorch_model.bin",
    }
    for name, reason in wrong.items():
        with pytest.raises(SubjectError, match=reason) as caught:
            open_target(str(tmp_path / name), tiny)
        assert caught.value.remedy


def test_a_file_of_other_tensors_is_no_target(tmp_path: Path, tiny: Contract) -> None:
    import torch

    save_file({"hidden_states": torch.zeros(3, 4, 64)}, tmp_path / "hs_0.safetensors")
    with pytest.raises(SubjectError, match="no embedding, final norm or head; it holds 1 tensors: hidden_states"):
        open_target(str(tmp_path / "hs_0.safetensors"), tiny)


def test_a_head_without_the_norm_decides_nothing(cut: Callable[..., Path], tiny: Contract) -> None:
    with pytest.raises(SubjectError, match="a head without the final norm"):
        open_target(str(cut("lm_head")), tiny)
    assert open_target(str(cut("lm_head", "embed_tokens")), tiny).rung is Rung.EMBEDDING


def test_a_dtype_without_torch_is_refused(tiny: Contract) -> None:
    with pytest.raises(SubjectError, match="computing in bfloat16 needs the torch route"):
        open_target(str(embedded_target()), tiny, "bfloat16", route="numpy")


def test_nothing_is_written_to_the_target(copy: Path, tiny: Contract, tokens: tuple[int, ...]) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in copy.rglob("*")}
    open_target(str(copy), tiny).reference(tokens)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in copy.rglob("*")} == before
