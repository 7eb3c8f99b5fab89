"""A target that cannot be trusted is refused: incomplete, unknown, or another one than the contract describes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.hf import open_transformers_target
from eagle3_contracts.subjects.targets.hf_loading import load_model
from eagle3_contracts.subjects.targets.taps import find_decoder

TOKENS = [5, 9, 33, 9, 40, 7]


@pytest.fixture
def copy(llama: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama.folder, tmp_path / "copy"))


def rewrite_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def with_target(contract: Contract, **changes: object) -> Contract:
    document = json.loads(contract.model_dump_json(by_alias=True))
    document["target"] |= changes
    return Contract.model_validate_json(json.dumps(document))


def test_missing_weights_are_refused_where_transformers_would_draw_them(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    del weights["model.layers.3.mlp.up_proj.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SubjectError, match=r"1 weights are missing .* first model\.layers\.3\.mlp\.up_proj\.weight"):
        load_model(str(copy))


def test_a_cut_off_file_is_refused(copy: Path) -> None:
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SubjectError, match="cannot load it"):
        load_model(str(copy))


def test_an_architecture_of_the_folder_s_own_is_not_run(copy: Path) -> None:
    (copy / "modeling_own.py").write_text("raise SystemExit('code of the folder was run')")
    rewrite_config(
        copy,
        model_type="own",
        architectures=["OwnForCausalLM"],
        auto_map={"AutoConfig": "modeling_own.Config", "AutoModelForCausalLM": "modeling_own.Model"},
    )
    with pytest.raises(SubjectError, match="cannot load it"):
        load_model(str(copy))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda folder: folder / "absent", "does not exist"),
        (lambda folder: folder, "holds neither config.json nor a .gguf file"),
    ],
)
def test_a_path_that_is_no_model_says_so(tmp_path: Path, make: Any, told: str) -> None:
    with pytest.raises(SubjectError, match=told):
        load_model(str(make(tmp_path)))


def test_a_folder_with_several_gguf_files_asks_which(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(SubjectError, match=r"several GGUF files: a\.gguf, b\.gguf"):
        load_model(str(tmp_path))


def test_a_gguf_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(SubjectError, match="cannot load it"):
        load_model(str(path))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"embed_scale": 2.0}, "target.embed_scale"),
        ({"norm": {"eps": 1e-6, "plus_one": True}}, "target.norm"),
        ({"logit_scale": 0.5}, "target.logit_scale"),
        ({"logit_softcap": 1.0}, "target.logit_scale, logit_softcap"),
    ],
)
def test_a_contract_that_describes_another_computation_is_refused(
    llama: Any, changes: dict[str, object], told: str
) -> None:
    with pytest.raises(SubjectError, match=told) as caught:
        open_transformers_target(llama.folder, with_target(llama.contract, **changes))
    assert "computes otherwise than tiny-llama@1.0.0 says" in str(caught.value)


def test_bfloat16_differs_from_float32_by_its_own_noise(llama: Any) -> None:
    exact = open_transformers_target(llama.folder, llama.contract).reference(TOKENS)
    rough = open_transformers_target(llama.folder, llama.contract, "bfloat16").reference(TOKENS)
    gap = np.linalg.norm(rough.boundaries - exact.boundaries, axis=-1) / np.linalg.norm(exact.boundaries, axis=-1)
    assert 1e-4 < np.median(gap) < 0.03
    assert rough.boundaries.dtype == np.float32


def test_loading_prints_nothing(llama: Any, capfd: pytest.CaptureFixture[str]) -> None:
    load_model(str(llama.folder))
    assert capfd.readouterr() == ("", "")


class TestDecoders:
    """Finding the layers and the final norm by structure."""

    class Model(torch.nn.Module):
        def __init__(self, **parts: torch.nn.Module) -> None:
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)
            self.config = self

        num_hidden_layers = 3

        def get_text_config(self, *, decoder: bool) -> Any:
            assert decoder
            return self

        def get_decoder(self) -> Any:
            return self

    @staticmethod
    def layers(count: int) -> torch.nn.ModuleList:
        return torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(count))

    def test_a_gpt2_like_naming_is_found(self) -> None:
        model = self.Model(h=self.layers(3), ln_f=torch.nn.LayerNorm(2), wte=torch.nn.Embedding(4, 2))
        decoder = find_decoder(model, "it")
        assert decoder.layers == tuple(model.h)
        assert decoder.norm is model.ln_f

    def test_lists_of_another_length_do_not_count(self) -> None:
        model = self.Model(experts=self.layers(4), layers=self.layers(3), norm=torch.nn.LayerNorm(2))
        assert find_decoder(model, "it").layers == tuple(model.layers)

    def test_two_lists_side_by_side_are_refused(self) -> None:
        model = self.Model(layers=self.layers(3), mtp=self.layers(3), norm=torch.nn.LayerNorm(2))
        with pytest.raises(SubjectError, match="2 lists of 3 decoder layers found"):
            find_decoder(model, "it")

    def test_no_norm_beside_the_layers_is_refused_with_what_is_there(self) -> None:
        with pytest.raises(SubjectError, match=r"no final norm can be told beside the 3 .*; Model has layers"):
            find_decoder(self.Model(layers=self.layers(3)), "it")
