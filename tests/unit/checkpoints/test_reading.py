"""How a folder becomes evidence: forms, containers, what is refused, and what is read without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import FORMS, Export, Form
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.checkpoints.recognition import recognise
from eagle3_contracts.subjects.checkpoints.special_tokens import find_special_tokens
from eagle3_contracts.subjects.checkpoints.values import read_values
from eagle3_contracts.subjects.datasets.stored import StoredTensor

Read = Callable[..., CheckpointEvidence]
Judge = Callable[..., dict[str, list[Finding]]]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_told_by_its_structure(form: Form, contract: Contract, read: Read, tmp_path: Path) -> None:
    changed, export = prepare_export(contract, tmp_path / "drafter", form)
    evidence = read(changed, export.write())
    assert evidence.form == form
    assert evidence.problems == ()
    assert set(evidence.canonical()) >= {"fc.weight", "layers.0.hidden_norm.weight", "d2t"}


def test_containers_hold_the_same_evidence(export: Export, read: Read) -> None:
    single = read(export.contract, export.write())
    for write in (Export.write_sharded, Export.write_bin):
        for file in export.folder.glob("*model*"):
            file.unlink()
        other = read(export.contract, write(export))
        assert other.problems == ()
        assert other.responses == single.responses
        assert {name: record.values for name, record in other.weights.items()} == {
            name: record.values for name, record in single.weights.items()
        }


def test_one_file_is_read_with_the_config_beside_it(export: Export, read: Read) -> None:
    evidence = read(export.contract, export.write() / "model.safetensors")
    assert evidence.form == "specforge"
    assert evidence.responses


def test_an_absent_folder_is_a_mistake_of_the_caller(export: Export, read: Read) -> None:
    with pytest.raises(SubjectError, match="does not exist"):
        read(export.contract, export.folder)


@pytest.mark.parametrize("shard", ["../model.safetensors", "/etc/passwd", "a/b.safetensors", 7])
def test_a_shard_outside_the_folder_is_not_opened(shard: Any, export: Export, read: Read, judge: Judge) -> None:
    folder = export.write_sharded()
    index = folder / "model.safetensors.index.json"
    table = json.loads(index.read_text(encoding="utf-8"))
    table["weight_map"]["fc.weight"] = shard
    index.write_text(json.dumps(table), encoding="utf-8")
    evidence = read(export.contract, folder)
    findings = judge(export.contract, evidence)
    assert {"unsafe", "corrupt"} & {problem.kind for problem in evidence.problems}
    assert Verdict.FAILED in {item.verdict for name in ("safe", "readable") for item in findings[name]}


def test_a_missing_shard_fails(export: Export, read: Read, judge: Judge) -> None:
    folder = export.write_sharded()
    (folder / "model-00001-of-00002.safetensors").unlink()
    findings = judge(export.contract, read(export.contract, folder))
    assert [item.verdict for item in findings["readable"]] == [Verdict.FAILED]
    assert [item.verdict for item in findings["shapes"]] == [Verdict.ERRORED]


def test_a_tensor_in_two_files_fails(export: Export, read: Read, judge: Judge) -> None:
    folder = export.write_sharded()
    (folder / "model.safetensors.index.json").unlink()
    (folder / "copy.safetensors").write_bytes((folder / "model-00001-of-00002.safetensors").read_bytes())
    (finding, *_) = judge(export.contract, read(export.contract, folder))["readable"]
    assert finding.verdict is Verdict.FAILED
    assert "stands in" in finding.observed


def test_headers_alone_decide_all_but_values(export: Export, read: Read, judge: Judge) -> None:
    findings = judge(export.contract, read(export.contract, export.write(), scan="headers"))
    errored = {name for name, items in findings.items() if items[0].verdict is Verdict.ERRORED}
    assert errored == {"finite", "fresh-tensors", "dead-tensors", "drafted-tokens"}


def test_without_torch_only_running_the_drafter_is_left_open(export: Export) -> None:
    code = (
        "import sys, json; sys.modules['torch'] = None\n"
        "from eagle3_contracts.contract import Contract\n"
        "from eagle3_contracts.registry import clauses_of\n"
        "from eagle3_contracts.run import gather_evidence, judge_clause\n"
        "from eagle3_contracts.subjects import Options, Subject\n"
        "contract = Contract.model_validate_json(sys.stdin.read())\n"
        "evidence = gather_evidence(contract, Subject('checkpoint', sys.argv[1], 'drafter'), Options())\n"
        "found = {c.id: judge_clause(c, contract, evidence)[0] for c in clauses_of('checkpoint')}\n"
        "print(json.dumps({name: [str(f.verdict), f.hint] for name, f in found.items()}))\n"
    )
    document = export.contract.model_dump_json(by_alias=True, exclude_none=True)
    command = [sys.executable, "-W", "error", "-c", code, str(export.write())]
    told = subprocess.run(command, input=document, capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(told.stdout)
    open_ones = {name: hint for name, (verdict, hint) in found.items() if verdict == "errored"}
    assert open_ones == {"checkpoint.dead-tensors": "pip install 'eagle3-contracts[torch]'"}
    assert not [name for name, (verdict, _) in found.items() if verdict == "failed"]


@pytest.mark.parametrize(
    ("config", "names", "form"),
    [
        ({"speculators_model_type": "eagle3"}, [], "speculators"),
        ({"eagle_config": {"use_last_layernorm": True}}, ["layers.0.x"], "modelopt"),
        ({"model_type": "llama"}, ["eagle_module.fc.weight"], "modelopt"),
        ({"architectures": ["LlamaForCausalLMEagle3"]}, ["midlayer.x"], "specforge"),
        ({"architectures": ["LlamaForCausalLM"]}, ["midlayer.x"], "eagle"),
        ({"architectures": ["AEagle3"], "eagle_config": {"use_aux_hidden_state": True}}, ["midlayer.x"], "specforge"),
        ({"eagle_config": {"use_last_layernorm": True}}, ["midlayer.x"], "eagle"),
        ({"model_type": "llama"}, ["model.layers.1.x"], None),
        ({}, ["midlayer.x"], None),
    ],
)
def test_forms_by_structure(config: dict[str, Any], names: list[str], form: str | None) -> None:
    assert recognise(config, names) == form


def stored(tensor: torch.Tensor) -> StoredTensor:
    return StoredTensor("float32", tensor.float().numpy())


@pytest.mark.parametrize("seed", range(5))
def test_initialisations_are_told_from_what_training_moved(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    normal = 0.02 * torch.randn(64, 96, generator=draw)
    torch.manual_seed(seed)
    linear = torch.nn.Linear(96, 64).weight.detach()
    assert "normal" in read_values(stored(normal), 0.02).fresh
    assert "uniform" in read_values(stored(linear), 0.02).fresh
    for tensor in (normal, linear):
        moved = tensor + 0.01 * torch.randn(tensor.shape, generator=draw)
        assert read_values(stored(moved), 0.02).fresh == ""
    assert read_values(stored(torch.ones(64)), 0.02).constant == 1.0


def test_values_that_are_not_finite_are_counted() -> None:
    values = read_values(stored(torch.tensor([[1.0, torch.nan], [-torch.inf, 3.0]])), 0.02)
    assert (values.nonfinite, values.largest) == (2, 3.0)


def test_bytes_and_ends_of_text_are_found(tmp_path: Path) -> None:
    target, drafter = tmp_path / "target", tmp_path / "drafter"
    for folder in (target, drafter):
        folder.mkdir()
    vocabulary = {f"<0x{byte:02X}>": byte + 3 for byte in range(256)}
    (drafter / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}), encoding="utf-8")
    (target / "config.json").write_text(json.dumps({"text_config": {"eos_token_id": [5, 6]}}), encoding="utf-8")
    (drafter / "config.json").write_text(json.dumps({"eos_token_id": 2}), encoding="utf-8")
    found = find_special_tokens(target, drafter)
    assert {label: item for label, item in found.items() if label.startswith("end")} == {
        "end of text 5 (config.json)": 5,
        "end of text 6 (config.json)": 6,
    }
    assert sum(label.startswith("byte") for label in found) == 256
    assert not any(label.startswith("end") for label in find_special_tokens(None, drafter))


def test_d2t_of_floats_is_no_vocabulary(export: Export, read: Read, judge: Judge) -> None:
    export.tensors["d2t"] = export.tensors["d2t"].float()
    findings = judge(export.contract, read(export.contract, export.write()))
    assert findings["dtypes"][0].verdict is Verdict.FAILED
    assert findings["d2t-ids"][0].verdict is Verdict.ERRORED


def test_the_layer_tables_of_both_sides_agree(export: Export, read: Read) -> None:
    """What the engines need of a plain drafter is what the contract expects: two lists, made apart."""
    from eagle3_contracts.consumers.parameters import Facts, build_parameters
    from eagle3_contracts.drafter import expected_tensors

    built = build_parameters(Facts("gqa", 1, "input_layernorm", 3))
    assert built.used == set(expected_tensors(export.contract))
    assert np.all(read(export.contract, export.write()).d2t >= 0)
