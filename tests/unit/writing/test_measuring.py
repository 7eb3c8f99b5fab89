"""``new`` with captured states: what is measured, what contradicts, and that the dataset passes its own contract."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import embedded
from eagle3_contracts.contract.stamp import STAMP_FILE
from eagle3_contracts.findings import Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.writing.composing import Composed, Request, compose
from support.formats import write_dataset
from support.formats.samples import make_samples
from support.formats.torch_writers import write_speculators_v1

TARGET = embedded.embedded_target() / "config.json"
TOY = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 16,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 24,
    "vocab_size": 12,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}
RECORDED = {subject.label: subject.value for subject in embedded.embedded_subjects() if subject.stage == "dataset"}
CAPTURED_BY = {"specforge": "specforge", "speculators-v1": "speculators", "vllm-connector": "speculators"}


@pytest.mark.parametrize("dataset_format", RECORDED)
def test_the_recorded_dataset_passes_the_contract_measured_on_it(dataset_format: str, tmp_path: Path) -> None:
    """Without its stamp, which names the contract that it was recorded under."""
    unstamped = shutil.ignore_patterns(STAMP_FILE)
    states = str(shutil.copytree(RECORDED[dataset_format], tmp_path / dataset_format, ignore=unstamped))
    made = compose(Request(target=TARGET, trainer=CAPTURED_BY[dataset_format], hidden_states=states))
    options = Options(scan="full", target=str(embedded.embedded_target()))
    report = check(made.contract, [Subject("dataset", states, "recorded")], options)
    by_verdict: dict[Verdict, set[str]] = {}
    for item in report.findings:
        by_verdict.setdefault(item.verdict, set()).add(item.clause)
    assert not by_verdict.get(Verdict.FAILED)
    assert not by_verdict.get(Verdict.ERRORED)
    assert by_verdict[Verdict.PASSED] >= {"dataset.boundary", "dataset.final-state", "dataset.norm-range"}


@pytest.mark.parametrize(
    ("trainer", "dataset_format"),
    [
        ("specforge", "specforge"),
        ("modelopt", "modelopt"),
        ("angelslim", "angelslim"),
        ("torchspec", "torchspec"),
        ("speculators", "speculators-arrow"),
        ("speculators", "hs-connectors-fp8"),
    ],
)
def test_every_trainers_own_dataset_passes(
    trainer: str, dataset_format: str, write_config: Callable[..., Path], tmp_path: Path
) -> None:
    write_dataset(dataset_format, tmp_path / "data", make_samples(4))
    states = str(tmp_path / "data")
    made = compose(Request(target=write_config(TOY), trainer=trainer, hidden_states=states))
    findings = check(made.contract, [Subject("dataset", states, "own")], Options()).findings
    assert [f"{item.clause}: {item.observed}" for item in findings if item.verdict is Verdict.FAILED] == []
    ranges = [plane.norm for plane in made.contract.stored_planes(dataset_format)]
    assert all(norm is not None and "4 of 4 files" in norm.origin for norm in ranges)


@pytest.fixture
def measure(write_config: Callable[..., Path], tmp_path: Path) -> Callable[..., Composed]:
    def measure_one(trainer: str, **options: Any) -> Composed:
        states = str(tmp_path / "data")
        return compose(Request(target=write_config(TOY), trainer=trainer, hidden_states=states, **options))

    return measure_one


def test_ids_and_version_beside_the_data_are_taken(measure: Callable[..., Composed], tmp_path: Path) -> None:
    """speculators 0.4 captured after the layer: its ids 2, 4, 5, 7 are boundaries 3, 5, 6, 8."""
    write_speculators_v1(tmp_path / "data", make_samples(3), layer_ids=[2, 4, 5, 7])
    made = measure("speculators")
    assert [plane.boundary for plane in made.contract.stored_planes()] == [3, 5, 6, 8]
    assert "data_config.json" in made.facts.found["planes"].origin


def test_the_dtype_on_disk_is_stated_where_it_is_not_the_targets(
    measure: Callable[..., Composed], tmp_path: Path
) -> None:
    write_dataset("specforge", tmp_path / "data", make_samples(3), "float32")
    made = measure("specforge").contract
    assert (made.storage.dtype, made.target.dtype) == ("float32", "bfloat16")
    assert set(made.tolerance) == {"float32", "bfloat16"}


@pytest.mark.parametrize("flag", [True, False])
def test_the_files_own_word_on_the_final_state_is_taken(
    measure: Callable[..., Composed], tmp_path: Path, *, flag: bool
) -> None:
    import torch

    write_dataset("modelopt", tmp_path / "data", make_samples(3))
    for path in (tmp_path / "data").rglob("*.pt"):
        torch.save({**torch.load(path, weights_only=True), "hidden_states_prenorm": flag}, path)
    last = measure("modelopt").contract.last_hidden_plane()
    assert last is not None
    assert last.state == ("pre_norm" if flag else "post_norm")


def test_states_that_contradict_what_is_known_are_refused(measure: Callable[..., Composed], tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_dataset("specforge", data, make_samples(3, embedding_plane=0))
    with pytest.raises(SubjectError, match=r"plane 0 is the embedding's output \(\d+ of \d+ .* make it R\[2\]"):
        measure("specforge")
    with pytest.raises(SubjectError, match=r"of format specforge, and angelslim 0\.5\.0 reads angelslim"):
        measure("angelslim")
    with pytest.raises(SubjectError, match=r"eagle cb7e084 keeps no states on disk"):
        measure("eagle")


def test_another_number_of_planes_or_another_width_is_refused(
    measure: Callable[..., Composed], write_config: Callable[..., Path], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_speculators_v1(data, make_samples(3, planes=5))
    with pytest.raises(SubjectError, match="holds 5 planes, and these ids store 4: low, mid, high, final"):
        measure("speculators")
    wide = write_config(TOY, "wide", hidden_size=32)
    with pytest.raises(SubjectError, match="has planes 16 wide, and the target's are 32"):
        compose(Request(target=wide, trainer="speculators", hidden_states=str(data), layer_ids=[1, 2, 3, 4]))


def test_nothing_to_measure_is_a_sentence(measure: Callable[..., Composed], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(SubjectError, match="cannot be measured: the folder holds no"):
        measure("specforge")
