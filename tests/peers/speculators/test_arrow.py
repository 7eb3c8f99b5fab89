"""speculators 0.9.0: its preprocessing writes the Arrow dataset, and its loader reads what our reader calls good."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict

pytestmark = pytest.mark.peer("speculators")

FORMAT = "speculators-arrow"


@pytest.fixture
def dataset(
    arrow: tuple[Path, list[Any]],
    contract: Contract,
    stack: Callable[..., Tensor],
    save_states: Callable[..., Path],
) -> tuple[Path, list[Any]]:
    folder, rows = arrow
    for row, sample in enumerate(rows):
        save_states(folder, row, stack(sample, contract, FORMAT), sample.token_ids)
    return arrow


def test_the_real_dataset_passes_every_clause(dataset: tuple[Path, list[Any]], accept: Callable[..., None]) -> None:
    accept(dataset[0], FORMAT)


def test_the_states_alone_pass_too(dataset: tuple[Path, list[Any]], accept: Callable[..., None]) -> None:
    accept(dataset[0] / "hidden_states", FORMAT)


def test_the_states_as_the_connector_leaves_them_pass_too(
    dataset: tuple[Path, list[Any]], tmp_path: Path, accept: Callable[..., None]
) -> None:
    """vLLM names a file after its request and leaves a lock beside it (v1/example_hidden_states_connector.py, read)."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for path in (dataset[0] / "hidden_states").iterdir():
        name = f"cmpl-{path.stem}-0.safetensors"
        path.rename(folder / name)
        (folder / f"{name}.lock").touch()
    accept(folder, "vllm-connector")


def test_the_real_loader_feeds_what_the_contract_says(
    dataset: tuple[Path, list[Any]], contract: Contract, peer: Callable[[str], ModuleType], stack: Callable[..., Tensor]
) -> None:
    folder, rows = dataset
    data = peer("speculators.train.data")
    check_states = peer("speculators.data_generation.offline").check_hidden_states
    loaded = data.ArrowDataset(256, folder, on_missing="raise")
    for row, sample in enumerate(rows):
        item, states = loaded[row], stack(sample, contract, FORMAT)
        check_states({"hidden_states": states, "token_ids": sample.token_ids}, sample.token_ids.tolist())
        assert torch.equal(item["input_ids"], sample.token_ids)
        assert torch.equal(item["loss_mask"], sample.loss_mask)
        assert torch.equal(item["hidden_states"], states[:, :-1].flatten(1))
        assert torch.equal(item["verifier_last_hidden_states"], states[:, -1])


def test_the_real_collator_packs_what_our_reader_calls_good(
    dataset: tuple[Path, list[Any]], contract: Contract, peer: Callable[[str], ModuleType]
) -> None:
    folder, rows = dataset
    data, shift = peer("speculators.train.data"), peer("speculators.models.eagle3.data").shift_batch
    planes = len(contract.stored_planes(FORMAT)) - 1
    collate = data.CollateFn(512, contract.target.hidden_size, planes, torch.bfloat16, shift)
    loaded = data.ArrowDataset(512, folder, on_missing="raise")
    batch = collate([loaded[row] for row in range(len(rows))])
    tokens = torch.cat([sample.token_ids[1:] for sample in rows])
    assert batch["error_records"] == 0
    assert torch.equal(batch["input_ids"][0, : len(tokens)], tokens)
    assert batch["document_ids"][0].max() == len(rows) - 1


def test_a_short_sample_that_the_real_loader_takes_in_silence_fails(
    dataset: tuple[Path, list[Any]],
    contract: Contract,
    peer: Callable[[str], ModuleType],
    stack: Callable[..., Tensor],
    save_states: Callable[..., Path],
    judge: Callable[..., Any],
) -> None:
    folder, rows = dataset
    save_states(folder, 0, stack(rows[0], contract, FORMAT)[:-1].contiguous(), rows[0].token_ids)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        item = peer("speculators.train.data").ArrowDataset(256, folder, on_missing="raise")[0]
    assert len(item["hidden_states"]) == len(item["input_ids"]) - 1
    verdicts = {finding.clause: finding.verdict for finding in judge(folder, FORMAT)}
    assert verdicts["dataset.rows"] is Verdict.FAILED


def test_nan_that_the_real_loader_takes_in_silence_fails(
    dataset: tuple[Path, list[Any]],
    contract: Contract,
    peer: Callable[[str], ModuleType],
    stack: Callable[..., Tensor],
    save_states: Callable[..., Path],
    judge: Callable[..., Any],
) -> None:
    folder, rows = dataset
    states = stack(rows[1], contract, FORMAT)
    states[3, 0, 5] = torch.nan
    save_states(folder, 1, states, rows[1].token_ids)
    assert (
        peer("speculators.train.data").ArrowDataset(256, folder, on_missing="raise")[1]["hidden_states"].isnan().any()
    )
    verdicts = {finding.clause: finding.verdict for finding in judge(folder, FORMAT)}
    assert verdicts["dataset.finite"] is Verdict.FAILED
