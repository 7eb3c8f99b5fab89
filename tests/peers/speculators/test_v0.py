"""speculators 0.3.0, the older file form: written from reading its ``standardize_data_v0``, read by it and by us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from eagle3_contracts.contract import Contract

pytestmark = pytest.mark.peer("speculators")

FORMAT = "speculators-v0"


@pytest.fixture
def dataset(tmp_path: Path, samples: list[Any], contract: Contract) -> Path:
    for index, sample in enumerate(samples):
        *aux, last = (plane.to(torch.bfloat16) for plane in sample.planes(contract, FORMAT))
        record = {
            "input_ids": sample.token_ids,
            "loss_mask": sample.loss_mask,
            "hidden_state": torch.cat(aux, dim=-1),
            "target": last,
        }
        torch.save(record, tmp_path / f"sample_{index}.pt")
    return tmp_path


def test_files_that_the_real_loader_takes_pass_every_clause(dataset: Path, accept: Callable[..., None]) -> None:
    accept(dataset, FORMAT)


def test_the_real_loader_reads_the_same_planes(
    dataset: Path,
    contract: Contract,
    samples: list[Any],
    unpack_wheel: Callable[[str, str], Path],
    import_from: Callable[..., ModuleType],
) -> None:
    data = import_from(unpack_wheel("speculators", "0.3.0"), "speculators.train.data")
    files = [str(dataset / f"sample_{index}.pt") for index in range(len(samples))]
    loaded = data.Eagle3SampleFileDataset(256, file_list=files, standardize_fn=data.standardize_data_v0)
    for item, sample in zip(loaded, samples, strict=True):
        *aux, last = (plane.to(torch.bfloat16).float() for plane in sample.planes(contract, FORMAT))
        assert torch.equal(item["hidden_states"], torch.cat(aux, -1)[:-1])
        assert torch.equal(item["verifier_last_hidden_states"], last[1:])
