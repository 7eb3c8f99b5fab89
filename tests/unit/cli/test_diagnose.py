"""``diagnose`` from files: an exported drafter, captured samples, and as much of the target as there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from safetensors.torch import save_file
from torch import Tensor

from eagle3_contracts.cli import main
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.contract.writing import write_contract
from eagle3_contracts.findings import Level, Verdict
from eagle3_contracts.recording.drafter_training import export_tensors
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.targets import open_target
from support.formats import write_dataset
from support.formats.samples import GoodSample
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens
from support.toy_drafters import School

STORED = (0, 3, 31, 59)


class Files(NamedTuple):
    """What the story left on disk: contracts by version, drafters, the samples, the target."""

    contracts: dict[str, Path]
    drafter: Path
    weak: Path
    samples: Path
    target: Path


def export(folder: Path, contract: Contract, weights: dict[str, Tensor]) -> Path:
    """Write a drafter as SpecForge exports it for SGLang."""
    folder.mkdir()
    save_file(export_tensors(contract, weights), folder / "model.safetensors")
    drafter = contract.drafter
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "hidden_act": "silu",
        "vocab_size": contract.target.vocab_size,
        "draft_vocab_size": drafter.draft_vocab_size,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": 1e-5,
        "rope_theta": drafter.rope.theta,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "eagle_aux_hidden_state_layer_ids": [0, 3, 31],
        "torch_dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    root = tmp_path_factory.mktemp("story")
    # No engine is promised: SGLang's class of a Llama, which the toy is, cannot capture the embedding.
    versions = {
        version: scale_down(load_contract(f"kimi-k2.5-eagle3@{version}")).model_copy(update={"serving": None})
        for version in ("1.0.0", "2.0.0")
    }
    contract = versions["2.0.0"]
    target = open_target(str(kimi_toy(root / "target")), contract)
    school = School(contract, target, [target.reference(toy_tokens(32, seed=seed)) for seed in range(40)])
    samples = [
        GoodSample(
            tuple(map(int, item.token_ids)), np.ascontiguousarray(item.boundaries[list(STORED)]), (0,) * 8 + (1,) * 24
        )
        for item in school.states
    ]
    (root / "samples").mkdir()
    write_dataset("speculators-v1", root / "samples", samples)
    paths = {}
    for version, item in versions.items():
        paths[version] = root / f"kimi-{version}.toml"
        paths[version].write_text(write_contract(item), encoding="utf-8")
    drafter = export(root / "drafter", contract, school.train((0, 3, 31)))
    weak = export(root / "weak", contract, school.train((0, 3, 31), updates=50))
    return Files(paths, drafter, weak, root / "samples", root / "target")


def arguments(files: Files, version: str, drafter: Path, *more: str) -> list[str]:
    given = ["diagnose", str(files.contracts[version]), "--checkpoint", str(drafter)]
    return [*given, "--hidden-states", str(files.samples), "--target", str(files.target), *more]


def test_the_storys_files_are_named_in_words_and_json(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(files, "1.0.0", files.drafter)) == 1
    told = capsys.readouterr().out
    assert "wired wrong" in told
    assert "fed to fc as the contract says: cat(low, mid, high) = R[3], R[31], R[59]" in told
    assert "fed to fc as it was trained: cat(embed, low, mid) = R[0], R[3], R[31]" in told
    assert "torchspec: ids [-1, 2, 30]" in told
    assert "40 samples, 600 held-out rows" in told
    assert main(arguments(files, "1.0.0", files.drafter, "--json")) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "wired wrong"
    assert found["found"].startswith("cat(embed, low, mid)")
    assert found["differences"][0]["name"] == "planes into fc"


def test_as_it_was_trained_it_is_sound(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(files, "2.0.0", files.drafter)) == 0
    assert "2.0.0: sound" in capsys.readouterr().out


def test_a_weak_drafter_passes_every_must_clause_and_is_under_trained(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(files, "2.0.0", files.weak)) == 0
    assert "2.0.0: under-trained" in capsys.readouterr().out
    report = check(
        load_contract(files.contracts["2.0.0"]),
        [Subject("checkpoint", str(files.weak), "weak"), Subject("dataset", str(files.samples), "samples")],
        Options(target=str(files.target)),
    )
    judged = [item for item in report.findings if item.level is Level.MUST]
    assert [str(item) for item in judged if item.verdict is Verdict.FAILED] == []
    assert len([item for item in judged if item.verdict is Verdict.PASSED]) > 20


def test_without_the_targets_embedding_it_says_what_to_give(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments(files, "2.0.0", files.drafter)
    assert main(given[: given.index("--target")]) == 2
    assert "give the target, whose embedding the drafter uses: --target DIR" in capsys.readouterr().err


def test_a_folder_that_is_no_drafter_is_said_to_be_none(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(files, "2.0.0", files.target)) == 2
    assert str(files.target) in capsys.readouterr().err
