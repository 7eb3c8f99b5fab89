"""Stamping: what is written, what is refused, and that a stamped artifact is held against its stamp."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from eagle3_contracts import embedded
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import STAMP_FILE, STAMP_KEY
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.writing.headers import hash_data, write_metadata
from eagle3_contracts.writing.stamping import Order, stamp

RECORDED = {subject.label: subject.value for subject in embedded.embedded_subjects() if subject.stage == "dataset"}
UNSTAMPED = shutil.ignore_patterns(STAMP_FILE)


@pytest.fixture(params=sorted(RECORDED))
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a copy of a recorded dataset, in each format."""
    return Path(shutil.copytree(RECORDED[request.param], tmp_path / request.param, ignore=UNSTAMPED))


def declared_by(contract: Contract, stage: str, path: Path, scan: str = "sample") -> list[Finding]:
    findings = check(contract, [Subject(stage, str(path), path.name)], Options(scan=scan)).findings
    return [item for item in findings if item.clause == f"{stage}.declaration"]


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def test_a_stamp_says_what_was_captured(embedded_contract: Contract, dataset: Path) -> None:
    made = stamp(embedded_contract, Order(path=dataset, tools=("torch==2.13.0", "specforge==0.2.0")))
    said = json.loads((dataset / STAMP_FILE).read_text(encoding="utf-8"))
    assert said == made.stamp
    assert said["boundaries"] == [2, 4, 5, 8]
    assert said["final_state"] == ("post_norm" if dataset.name == "specforge" else "pre_norm")
    assert said["alignment"]["token"] == [1]
    assert (said["dtype"], said["format"]) == ("bfloat16", dataset.name)
    assert said["tools"] == {"torch": "2.13.0", "specforge": "0.2.0"}
    assert (said["contract"], said["contract_digest"]) == (embedded_contract.reference, embedded_contract.digest)
    assert said["tokens"]["samples"] == len(said["tokens"]["sample_digests"].split()) == 4
    assert made.assumed == ()


@pytest.mark.parametrize("scan", ["headers", "sample", "full"])
def test_a_stamped_dataset_passes(scan: str, embedded_contract: Contract, dataset: Path) -> None:
    before = declared_by(embedded_contract, "dataset", dataset, scan)
    assert [item.verdict for item in before] == [Verdict.SKIPPED]
    assert "no stamp, so these are assumed from the contract: boundaries 2, 4, 5, 8" in before[0].observed
    stamp(embedded_contract, Order(path=dataset))
    assert {item.verdict for item in declared_by(embedded_contract, "dataset", dataset, scan)} == {Verdict.PASSED}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"boundaries": [3, 5, 6, 8]}, "the stamp says boundaries = [3, 5, 6, 8]"),
        ({"contract_digest": "0" * 64}, "stamped when the contract's digest was 000"),
        ({"dtype": "float16"}, "the stamp says dtype = float16"),
        ({"alignment": {"token": [0]}}, 'the stamp says alignment = {"token": [0]}'),
        ({"final_state": "raw"}, "the stamp says final_state = raw"),
        ({"contract": "other@1.0.0"}, "the dataset is stamped for other@1.0.0"),
    ],
)
def test_a_stamp_that_says_otherwise_is_found(
    changes: dict[str, Any], sentence: str, embedded_contract: Contract, dataset: Path
) -> None:
    stamp(embedded_contract, Order(path=dataset))
    rewrite(dataset / STAMP_FILE, **changes)
    failed = declared_by(embedded_contract, "dataset", dataset)
    assert {item.verdict for item in failed} == {Verdict.FAILED}
    assert any(item.observed.startswith(sentence) for item in failed)
    assert all(item.hint and item.expected for item in failed)


def test_samples_that_were_not_stamped_are_found(embedded_contract: Contract, dataset: Path) -> None:
    stamp(embedded_contract, Order(path=dataset))
    tokens = json.loads((dataset / STAMP_FILE).read_text(encoding="utf-8"))["tokens"]
    listed = tokens["sample_digests"].split()
    rewrite(dataset / STAMP_FILE, tokens={**tokens, "sample_digests": " ".join(listed[1:])})
    (failed,) = declared_by(embedded_contract, "dataset", dataset)
    assert failed.observed == "1 of 4 samples read have token ids that were not stamped"
    assert failed.where.file != STAMP_FILE
    rewrite(dataset / STAMP_FILE, tokens={"samples": 4, "digest": "0" * 64})
    (failed,) = declared_by(embedded_contract, "dataset", dataset)
    assert failed.observed == "the token ids of all samples have another digest than when they were stamped"
    files = sorted(path for path in dataset.rglob("*") if path.is_file() and path.name != STAMP_FILE)
    stamp(embedded_contract, Order(path=dataset, replace=True))
    files[0].unlink()
    (failed,) = declared_by(embedded_contract, "dataset", dataset, "headers")
    assert failed.observed == "3 samples, and 4 were stamped"


def test_what_contradicts_the_contract_is_not_stamped(embedded_contract: Contract, tmp_path: Path) -> None:
    data = Path(shutil.copytree(RECORDED["specforge"], tmp_path / "data", ignore=UNSTAMPED))
    other = json.loads(embedded_contract.model_dump_json(by_alias=True, exclude_none=True))
    other["storage"]["dtype"] = "float32"
    contract = Contract.model_validate_json(json.dumps({**other, "version": "9.0.0"}))
    with pytest.raises(SubjectError, match=r"is not what tiny-llama-eagle3@9\.0\.0 says: dataset\.dtype: "):
        stamp(contract, Order(path=data))
    assert not (data / STAMP_FILE).exists()


def test_another_stamp_is_replaced_only_on_demand(embedded_contract: Contract, tmp_path: Path) -> None:
    data = Path(shutil.copytree(RECORDED["specforge"], tmp_path / "data", ignore=UNSTAMPED))
    (data / STAMP_FILE).write_text('{"contract": "other@1.0.0"}', encoding="utf-8")
    with pytest.raises(SubjectError, match=r"already says contract = other@1\.0\.0"):
        stamp(embedded_contract, Order(path=data))
    assert stamp(embedded_contract, Order(path=data, replace=True)).stamp["contract"] == embedded_contract.reference


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ({"tools": ("specforge",)}, "is no tool with a version"),
        ({"in_place": True}, "is a dataset, whose stamp lies beside it"),
    ],
)
def test_orders_that_cannot_be_carried_out(
    order: dict[str, Any], sentence: str, embedded_contract: Contract, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(RECORDED["specforge"], tmp_path / "data", ignore=UNSTAMPED))
    with pytest.raises(SubjectError, match=sentence):
        stamp(embedded_contract, Order(path=data, **order))
    with pytest.raises(SubjectError, match="does not exist"):
        stamp(embedded_contract, Order(path=tmp_path / "absent"))


def test_a_checkpoint_is_stamped_beside_it_unless_told_otherwise(drafter: tuple[Contract, Path]) -> None:
    contract, folder = drafter
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (skipped,) = declared_by(contract, "checkpoint", folder)
    assert skipped.verdict is Verdict.SKIPPED
    assert skipped.observed.startswith("no stamp, so these are assumed from the contract: boundaries 2, 4, 5")
    made = stamp(contract, Order(path=folder))
    assert made.files == (folder / STAMP_FILE,)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != STAMP_FILE} == before
    assert [item.verdict for item in declared_by(contract, "checkpoint", folder)] == [Verdict.PASSED]


def test_in_place_the_tensors_stay_bit_identical(drafter: tuple[Contract, Path]) -> None:
    contract, folder = drafter
    weights, config = folder / "model.safetensors", folder / "config.json"
    tensors, digest, mode = load_file_bytes(weights), hash_data(weights), weights.stat().st_mode
    told = json.loads(config.read_text(encoding="utf-8"))
    made = stamp(contract, Order(path=folder, in_place=True, tools=("specforge==0.2.0",)))
    assert load_file_bytes(weights) == tensors
    assert (hash_data(weights), weights.stat().st_mode) == (digest, mode)
    with safe_open(weights, "np") as file:
        metadata = file.metadata()
    assert metadata == {"format": "pt", STAMP_KEY: json.dumps(made.stamp, ensure_ascii=False)}
    assert json.loads(config.read_text(encoding="utf-8")) == {**told, STAMP_KEY: made.stamp}
    assert made.stamp["boundaries"] == [2, 4, 5]
    assert {item.verdict for item in declared_by(contract, "checkpoint", folder)} == {Verdict.PASSED}
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", STAMP_FILE, "model.safetensors"]


def test_each_place_of_a_checkpoints_stamp_is_held_against_the_contract(drafter: tuple[Contract, Path]) -> None:
    contract, folder = drafter
    made = stamp(contract, Order(path=folder, in_place=True)).stamp
    write_metadata(folder / "model.safetensors", STAMP_KEY, json.dumps({**made, "boundaries": [3, 5, 6]}))
    rewrite(folder / "config.json", **{STAMP_KEY: {**made, "d2t": "absolute"}})
    rewrite(folder / STAMP_FILE, contract="other@1.0.0")
    failed = {item.where.file: item for item in declared_by(contract, "checkpoint", folder)}
    assert failed["model.safetensors"].observed == "the stamp says boundaries = [3, 5, 6]"
    assert failed["config.json"].expected == "d2t = offset"
    assert failed[STAMP_FILE].observed == "the checkpoint is stamped for other@1.0.0"


@pytest.mark.parametrize("text", ["[1]", "{", '{"contract": 3}'])
def test_a_stamp_that_is_none_never_passes(text: str, drafter: tuple[Contract, Path]) -> None:
    contract, folder = drafter
    write_metadata(folder / "model.safetensors", STAMP_KEY, text)
    verdicts = {item.verdict for item in declared_by(contract, "checkpoint", folder)}
    assert verdicts <= {Verdict.ERRORED, Verdict.FAILED}
    assert verdicts


def test_a_broken_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{}")
    with pytest.raises(SubjectError):
        write_metadata(path, STAMP_KEY, "{}")
    assert path.read_bytes() == b"\x10\x00\x00\x00\x00\x00\x00\x00{}"
    assert list(tmp_path.iterdir()) == [path]


def test_a_copy_that_differs_is_never_put_in_place(
    drafter: tuple[Contract, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = drafter[1] / "model.safetensors"
    before = path.read_bytes()

    def lose_the_end(source: Any, sink: Any, _block: int) -> None:
        sink.write(source.read()[:-4] + b"\x00\x01\x02\x03")

    monkeypatch.setattr("eagle3_contracts.writing.headers.shutil.copyfileobj", lose_the_end)
    with pytest.raises(SubjectError, match="was not copied bit by bit"):
        write_metadata(path, STAMP_KEY, "{}")
    assert path.read_bytes() == before


def load_file_bytes(path: Path) -> dict[str, bytes]:
    return {name: values.tobytes() for name, values in load_tensors(path).items()}


def load_tensors(path: Path) -> dict[str, Any]:
    import torch
    from safetensors.torch import load_file as load

    return {name: tensor.contiguous().view(torch.uint8).numpy() for name, tensor in load(path).items()}
