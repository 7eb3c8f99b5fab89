"""A small loader of speculators-v1 files to run, and the contract it is run for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import Loader, StepZero
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence import LoaderEvidence
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders import gather

Gather = Callable[..., LoaderEvidence]


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture
def run_loader(contract: Contract) -> Gather:
    """Gather the evidence of ``read``: a function of a folder that gives batches."""

    def run(read: Callable[[Path], Any], dataset_format: str = "speculators-v1", **options: Any) -> LoaderEvidence:
        def factory(asked: Contract) -> Loader:
            assert asked is contract
            return Loader(read, dataset_format, **options)

        return gather(contract, Subject("loader", "a.py:factory", "mine", factory), Options())

    return run


def load_plain(folder: Path) -> Any:
    """Give one batch for each file, two-dimensional, as a trainer of one sample at a time does."""
    import torch

    for path in sorted(folder.glob("data_*.pt")):
        record = torch.load(path, weights_only=True)
        *fed, last = record["hidden_states"]
        yield StepZero(torch.cat(fed, -1)[:-1], record["input_ids"][1:], last[1:], record["loss_mask"][1:])
