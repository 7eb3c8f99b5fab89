"""What contracts and clauses rest on, measured on the real code of SpecForge 0.2.0 and of the transformers beside it.

tests/peers/README.md lists all facts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from support.recordings import declared_wiring, make_samples, read_states, write_dataset

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]


@pytest.fixture
def files(contract: Contract, tmp_path: Path) -> list[Path]:
    samples = make_samples(declared_wiring(contract, "specforge"))
    return write_dataset(tmp_path, "specforge", samples, "bfloat16")


def test_transformers_last_hidden_state_is_normed_and_the_others_are_not(peer: Peer) -> None:
    model = peer("transformers").LlamaForCausalLM.from_pretrained(embedded_target(), dtype=torch.float32).eval()
    recorded = read_states()[0]
    with torch.no_grad():
        given = model(torch.from_numpy(recorded.token_ids)[None], output_hidden_states=True).hidden_states
    for at, tensor in enumerate(given[:-1]):
        torch.testing.assert_close(tensor[0], torch.from_numpy(recorded.boundaries[at]), rtol=0.02, atol=0.3)
    torch.testing.assert_close(given[-1][0], torch.from_numpy(recorded.final), rtol=0.02, atol=0.3)


def test_a_sample_is_not_shifted_and_its_head_shifts_tokens_and_targets(files: list[Path]) -> None:
    """0.1.0 shifted in the dataset class; of the mask only the last entry is taken away, for the row left empty."""
    item = import_module("specforge.data.preprocessing").OfflineEagle3Dataset([str(files[0])], max_len=256)[0]
    record = torch.load(files[0], weights_only=True)
    length = len(record["input_ids"])
    assert {name: tuple(value.shape) for name, value in item.items()} == {
        "attention_mask": (1, length),
        "loss_mask": (1, length),
        "target": (1, length, 64),
        "hidden_state": (1, length, 192),
        "input_ids": (1, length),
    }
    assert torch.equal(item["input_ids"][0], record["input_ids"])
    preprocess = import_module("specforge.modeling.target.target_head").TargetHead.preprocess
    tokens, target, mask = preprocess(None, item["input_ids"], item["target"], item["loss_mask"])
    assert tokens[0].tolist() == [*record["input_ids"][1:].tolist(), 0]
    assert torch.equal(target[0, :-1], record["hidden_state"][0, 1:])
    assert mask[0, :, 0].tolist() == [*record["loss_mask"][:-1].tolist(), 0]


def test_rows_are_trained_by_their_own_mask(files: list[Path]) -> None:
    """Tokens 4 to 8 in the mask are rows 4 to 8, where speculators trains rows 3 to 7."""
    record = torch.load(files[0], weights_only=True)
    record["loss_mask"] = torch.zeros_like(record["loss_mask"])
    record["loss_mask"][4:9] = 1
    torch.save(record, files[0])
    item = import_module("specforge.data.preprocessing").OfflineEagle3Dataset([str(files[0])], max_len=256)[0]
    assert item["loss_mask"][0].nonzero().flatten().tolist() == [4, 5, 6, 7, 8]


def test_a_sample_of_one_token_is_never_trained(files: list[Path]) -> None:
    record = torch.load(files[0], weights_only=True)
    short = {name: value[..., :1, :] if value.ndim > 1 else value[:1] for name, value in record.items()}
    torch.save({name: value.clone() for name, value in short.items()} | {"loss_mask": torch.ones(1).long()}, files[0])
    item = import_module("specforge.data.preprocessing").OfflineEagle3Dataset([str(files[0])], max_len=256)[0]
    assert tuple(item["hidden_state"].shape) == (1, 1, 192)
    assert not item["loss_mask"].any()


def test_the_mask_is_written_to_in_memory_alone(files: list[Path]) -> None:
    before = files[0].read_bytes()
    dataset = import_module("specforge.data.preprocessing").OfflineEagle3Dataset([str(files[0])], max_len=256)
    assert int(dataset[0]["loss_mask"][0, -1]) == 0
    assert int(torch.load(files[0], weights_only=True)["loss_mask"][-1]) == 1
    assert files[0].read_bytes() == before


def test_its_loss_cannot_be_imported_without_triton(peer: Peer) -> None:
    """Why tests put another loss in its place; in a process of its own, since others did so here."""
    peer("specforge")
    command = [sys.executable, "-c", "import specforge.core.loss"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode != 0
    assert "No module named 'triton'" in done.stderr
