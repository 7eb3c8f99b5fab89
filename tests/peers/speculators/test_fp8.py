"""hs-connectors 0.9.0: its connector writes quantised states, and its transfer reads them back with the scales."""

from __future__ import annotations

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

FORMAT = "hs-connectors-fp8"
CONNECTOR = "vllm.distributed.kv_transfer.kv_connector.v1.example_hidden_states_connector"


class Arrived:
    """Stands in for the CUDA event that the connector waits for: the tensors are here already."""

    def synchronize(self) -> None:
        """Return at once."""


@pytest.fixture
def write(stand_in: Callable[..., None], peer: Callable[[str], ModuleType]) -> Callable[..., None]:
    """Give the real connector's own writer; its base class in vLLM is a stand-in, of which the writer uses nothing."""
    stand_in({CONNECTOR: {"ExampleHiddenStatesConnector": object}})
    module = peer("hs_connectors.fp8_hidden_states_connector")

    def write_file(path: Path, states: Tensor, token_ids: Tensor) -> None:
        tensors = {"hidden_states": states, "token_ids": token_ids}
        module.FP8HiddenStatesConnector._write_tensors(tensors, Arrived(), str(path), None)

    return write_file


@pytest.fixture
def dataset(
    arrow: tuple[Path, list[Any]], contract: Contract, stack: Callable[..., Tensor], write: Callable[..., None]
) -> tuple[Path, list[Any]]:
    folder, rows = arrow
    (folder / "hidden_states").mkdir()
    for row, sample in enumerate(rows):
        path = folder / "hidden_states" / f"hs_{row}.safetensors"
        write(path, stack(sample, contract, FORMAT), sample.token_ids)
    return arrow


def test_the_real_quantised_dataset_passes_every_clause(
    dataset: tuple[Path, list[Any]], accept: Callable[..., None]
) -> None:
    accept(dataset[0], FORMAT)


def test_the_real_transfer_reads_it_and_the_plain_one_reads_it_wrong_in_silence(
    dataset: tuple[Path, list[Any]], contract: Contract, peer: Callable[[str], ModuleType], stack: Callable[..., Tensor]
) -> None:
    folder, rows = dataset
    connectors = peer("hs_connectors")
    wanted = stack(rows[0], contract, FORMAT).float()
    right = connectors.FP8Transfer(folder / "hidden_states").get_cached(0)["hidden_states"].float()
    wrong = connectors.FileTransfer(folder / "hidden_states").get_cached(0)["hidden_states"].float()
    assert (right - wanted).norm() / wanted.norm() < 0.05
    assert wrong.norm() / wanted.norm() > 2


def test_states_without_their_scales_fail(
    dataset: tuple[Path, list[Any]], judge: Callable[..., Any], peer: Callable[[str], ModuleType]
) -> None:
    files = peer("safetensors.torch")
    path = dataset[0] / "hidden_states" / "hs_0.safetensors"
    tensors = files.load_file(path)
    del tensors["hidden_states_scales"]
    files.save_file(tensors, path)
    failed = {finding.clause for finding in judge(dataset[0], FORMAT) if finding.verdict is Verdict.FAILED}
    assert "dataset.scales" in failed
    assert torch.float8_e4m3fn == tensors["hidden_states"].dtype
