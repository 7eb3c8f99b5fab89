"""ModelOpt 0.47.0: its dataset and collator read what our reader calls good.

The files are written from reading examples/speculative_decoding/collect_hidden_states, which is in no wheel: the form
of its transformers dumper (the state after the norm), and the later one that declares a state before the norm.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict

pytestmark = pytest.mark.peer("modelopt")

FORMAT = "modelopt"


@pytest.fixture
def peer(import_from: Callable[..., ModuleType]) -> ModuleType:
    (root,) = importlib.util.find_spec("modelopt").submodule_search_locations
    import_from(Path(root).parent, "modelopt.torch.utils.loss_mask")
    return import_from(Path(root).parent, "modelopt.torch.speculative.eagle.utils")


@pytest.fixture
def dump(tmp_path: Path, samples: list[Any], contract: Contract) -> Callable[..., Path]:
    """Write a folder of samples; ``more`` is what later versions add to each record."""

    def write(**more: Any) -> Path:
        for index, sample in enumerate(samples):
            *aux, last = (plane.to(torch.bfloat16) for plane in sample.planes(contract, FORMAT))
            record = {
                "input_ids": sample.token_ids,
                "hidden_states": last,
                "aux_hidden_states": torch.cat(aux, dim=-1),
                "conversation_id": f"conversation-{index}",
            }
            extra = {name: value(sample) if callable(value) else value for name, value in more.items()}
            torch.save(record | extra, tmp_path / f"conversation-{index}.pt")
        return tmp_path

    return write


def test_the_first_form_passes_every_clause(dump: Callable[..., Path], accept: Callable[..., None]) -> None:
    accept(dump(), FORMAT)


def test_the_later_form_passes_every_clause(dump: Callable[..., Path], accept: Callable[..., None]) -> None:
    accept(dump(loss_mask=lambda sample: sample.loss_mask, hidden_states_prenorm=False), FORMAT)


def test_a_declaration_that_its_states_contradict_fails(dump: Callable[..., Path], judge: Callable[..., Any]) -> None:
    findings = judge(dump(hidden_states_prenorm=True), FORMAT)
    assert any(finding.verdict is Verdict.FAILED for finding in findings)


def test_the_real_dataset_and_collator_read_the_same_planes(
    dump: Callable[..., Path], peer: ModuleType, samples: list[Any], contract: Contract
) -> None:
    folder = dump(loss_mask=lambda sample: sample.loss_mask, hidden_states_prenorm=False)
    files = [str(folder / f"conversation-{index}.pt") for index in range(len(samples))]
    loaded = peer.OfflineSupervisedDataset(files, answer_only_loss=True)
    items = [loaded[index] for index in range(len(loaded))]
    for item, sample in zip(items, samples, strict=True):
        *aux, last = (plane.to(torch.bfloat16) for plane in sample.planes(contract, FORMAT))
        assert torch.equal(item["aux_hidden_states"], torch.cat(aux, -1))
        assert torch.equal(item["base_model_hidden_states"], last)
        assert torch.equal(item["loss_mask"], sample.loss_mask)
    batch = peer.EagleOfflineDataCollator(train_len=64)(items)
    assert batch["base_model_outputs"]["base_hidden_prenorm"] is False
    assert batch["input_ids"].shape == (len(samples), 64)
