"""Exports that are nearly right: each is told for what it is, and none ends in a traceback or a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_subjects
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.faults.injecting.exports import KEY, Export
from eagle3_contracts.findings import Finding, Verdict

Read = Callable[..., CheckpointEvidence]
Judge = Callable[..., dict[str, list[Finding]]]


def test_a_trainers_own_save_is_told_from_a_state_dict(export: Export, read: Read, judge: Judge) -> None:
    export.write()
    (export.folder / "model.safetensors").unlink()
    torch.save({"state_dict": export.tensors, "epoch": 3}, export.folder / "pytorch_model.bin")
    found = judge(export.contract, read(export.contract, export.folder))
    (told,) = found["readable"]
    assert told.verdict is Verdict.FAILED
    assert "state_dict" in told.observed
    assert {item.verdict for item in found["form"]} == {Verdict.ERRORED}


@pytest.mark.parametrize("change", ["swapped", "ghost", "empty"])
def test_an_index_that_does_not_fit_its_shards_fails(change: str, export: Export, read: Read, judge: Judge) -> None:
    export.write_sharded()
    index = export.folder / "model.safetensors.index.json"
    table = json.loads(index.read_text(encoding="utf-8"))
    shards = sorted(set(table["weight_map"].values()))
    if change == "swapped":
        table["weight_map"] = {name: shards[shards.index(old) - 1] for name, old in table["weight_map"].items()}
    elif change == "ghost":
        table["weight_map"]["ghost.weight"] = shards[0]
    else:
        table["weight_map"] = {}
    index.write_text(json.dumps(table), encoding="utf-8")
    (told,) = judge(export.contract, read(export.contract, export.folder))["readable"]
    assert told.verdict is Verdict.FAILED
    assert "shard" in told.observed


@pytest.mark.parametrize("d2t", ["absolute", "huge", "negative"])
def test_ids_beyond_the_vocabulary_are_told_and_nothing_is_drafted(
    d2t: str, read: Read, judge: Judge, tmp_path
) -> None:
    from safetensors.torch import load_file, save_file

    (source,) = [item for item in embedded_subjects() if item.stage == "checkpoint"]
    contract = load_contract(CONTRACT)
    tensors = load_file(f"{source.value}/model.safetensors")
    own = torch.arange(len(tensors["d2t"]))
    tensors["d2t"] = {"absolute": tensors["d2t"] + own, "huge": own + (1 << 62), "negative": -own - 1}[d2t]
    save_file(tensors, tmp_path / "model.safetensors")
    config = Path(source.value, "config.json").read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    found = judge(contract, read(contract, tmp_path))
    assert Verdict.FAILED in {item.verdict for item in found["d2t-ids"]}
    (drafted,) = found["drafted-tokens"]
    assert drafted.verdict is Verdict.ERRORED
    assert "outside the target's vocabulary" in drafted.observed


def test_a_missing_d2t_is_not_said_to_be_random(export: Export, read: Read, judge: Judge) -> None:
    del export.tensors["d2t"]
    (told,) = judge(export.contract, read(export.contract, export.write()))["tensors-present"]
    assert "take draft ids for target ids" in told.hint


@pytest.mark.parametrize("ids", [["1", "3", "4"], [1.0, 3.0, 4.0], [[1, 3, 4]], 3, "1,3,4", {"a": 1}])
def test_ids_of_another_kind_fail_and_are_never_taken_for_a_default(
    ids: Any, export: Export, read: Read, judge: Judge
) -> None:
    export.config["eagle_config"] = {KEY: ids}
    found = judge(export.contract, read(export.contract, export.write(), scan="headers"))
    told = [item for item in found["engine-start"] if item.verdict is Verdict.FAILED]
    assert told
    assert all("no list of whole numbers" in item.observed for item in told)


def test_a_key_of_another_kind_fails_with_its_place(export: Export, read: Read, judge: Judge) -> None:
    export.config["hidden_size"] = str(export.config["hidden_size"])
    (told,) = judge(export.contract, read(export.contract, export.write(), scan="headers"))["readable"]
    assert told.verdict is Verdict.FAILED
    assert told.where.flag == "hidden_size"
    assert told.hint.endswith("without quotes")


def test_taps_of_an_architecture_that_was_not_read_are_no_pass(export: Export, read: Read, judge: Judge) -> None:
    target = export.contract.target.model_copy(update={"architecture": "NewForCausalLM"})
    unread = export.contract.model_copy(update={"target": target})
    evidence = read(export.contract, export.write(), scan="headers")
    verdicts = {item.where.flag: item.verdict for item in judge(unread, evidence)["taps"]}
    assert verdicts["serving.engines.sglang"] is Verdict.ERRORED
    assert verdicts["serving.engines.vllm"] is Verdict.ERRORED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_attention_heads", 4),
        ("num_key_value_heads", 8),
        ("head_dim", 8),
        ("hidden_act", "gelu"),
        ("rms_norm_eps", 0.01),
    ],
)
def test_a_config_that_describes_another_layer_fails(
    key: str, value: object, export: Export, read: Read, judge: Judge
) -> None:
    before = read(export.contract, export.write(), scan="headers")
    assert {item.verdict for item in judge(export.contract, before)["shapes"]} == {Verdict.PASSED}
    export.config[key] = value
    found = judge(export.contract, read(export.contract, export.write(), scan="headers"))["shapes"]
    assert [item.where.flag for item in found if item.verdict is Verdict.FAILED] == [key]
