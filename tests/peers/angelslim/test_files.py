"""AngelSlim 0.5.0: its transformers backend captures, its dataset reads what our reader calls good.

Real: the capture of the transformers backend on a real model, the dataset, the collator. Stand-ins: its helpers for
printing and for choosing a device, and a speech model that is imported beside them. From reading
tools/generate_hidden_for_draft_model.py, which is in no wheel: the record that is saved, and the file names.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target

pytestmark = pytest.mark.peer("angelslim")

FORMAT = "angelslim"
TRAIN = "angelslim.compressor.speculative.train"
STAND_INS = {
    "angelslim.utils": {
        "rank0_print": lambda *_: None,
        "print_with_rank": lambda *_: None,
        "decide_device_for_distributed": lambda: "cpu",
    },
    f"{TRAIN}.models.target.cosyvoice3_llm": {"CosyVoice3LM": object},
}


@pytest.fixture
def peer(import_from: Callable[..., ModuleType]) -> Callable[[str], ModuleType]:
    (root,) = importlib.util.find_spec("angelslim").submodule_search_locations
    return lambda name: import_from(Path(root).parent, f"{TRAIN}.{name}", STAND_INS)


@pytest.fixture
def dataset(tmp_path: Path, samples: list[Any], peer: Callable[[str], ModuleType]) -> Path:
    backend = peer("models.target.target_model_wrapper").TransformersBackend(str(embedded_target()))
    backend.model = LlamaForCausalLM.from_pretrained(embedded_target(), dtype=torch.float32).eval()
    folder = tmp_path / "rank_0"
    folder.mkdir()
    for index, sample in enumerate(samples):
        captured = backend.get_aux_and_target_hiddens(sample.token_ids[None])
        states = {name: tensor.to(torch.bfloat16) for name, tensor in captured.items()}
        record = {"input_ids": sample.token_ids[None], "loss_mask": sample.loss_mask[None], **states}
        torch.save(record, folder / f"data_{index}.ckpt")
    return tmp_path


def test_the_real_capture_passes_every_clause(dataset: Path, accept: Callable[..., None]) -> None:
    accept(dataset, FORMAT)


def test_the_real_dataset_reads_the_planes_that_the_contract_says(
    dataset: Path, samples: list[Any], contract: Contract, peer: Callable[[str], ModuleType]
) -> None:
    builder = peer("data.dataset_builder.offline_dataset_builder")
    loaded = builder.OfflineEagle3Dataset(str(dataset))
    for item, sample in zip((loaded[index] for index in range(len(loaded))), samples, strict=True):
        *aux, last = sample.planes(contract, FORMAT)
        assert torch.equal(item["input_ids"][0], sample.token_ids)
        torch.testing.assert_close(item["hidden_states"][0].float(), torch.cat(aux, -1), rtol=0.01, atol=0.01)
        torch.testing.assert_close(item["target_hiddens"][0].float(), last, rtol=0.01, atol=0.01)
    batch = builder.DataCollatorWithPadding()([loaded[0], loaded[1]])
    assert batch["hidden_states"].shape[:2] == (2, max(len(sample.token_ids) for sample in samples[:2]))
