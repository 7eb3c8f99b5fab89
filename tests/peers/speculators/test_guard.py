"""``guard`` on what speculators 0.9.0's own loader gives: ArrowDataset, CollateFn, shift_batch.

The states are those of the embedded target; which planes a file holds is what goes wrong.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.findings import Verdict
from eagle3_contracts.guards import GuardError, guard
from support.recordings import Wiring, declared_wiring, make_samples, write_dataset

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
First = Callable[..., dict[str, Any]]
FORMAT, ROWS = "speculators-arrow", 256


@pytest.fixture
def first_batch(peer: Peer, contract: Contract, tmp_path: Path) -> First:
    """Give the first batch of the real loader over a dataset of some planes; ``shift``: as its script has it."""

    def load(wiring: Wiring, *, shift: bool = True) -> dict[str, Any]:
        folder = tmp_path / "arrow"
        write_dataset(folder, FORMAT, make_samples(wiring), "bfloat16")
        data = peer("speculators.train.data")
        shifting = peer("speculators.models.eagle3.data").shift_batch if shift else None
        planes = len(contract.drafter.input)
        collate = data.CollateFn(ROWS, contract.target.hidden_size, planes, torch.float32, shifting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = data.ArrowDataset(ROWS, str(folder), on_missing="raise", hidden_states_dtype=torch.float32)
            batches = torch.utils.data.DataLoader(dataset, batch_size=len(dataset), collate_fn=collate)
            found: dict[str, Any] = next(iter(batches))
        return found

    return load


@pytest.fixture
def trained(contract: Contract) -> Contract:
    """The contract of a drafter that is fed the embedding, as the story's was."""
    document = json.loads(contract.model_dump_json(by_alias=True, exclude_none=True))
    document["planes"] = [{"name": "embed", "boundary": 0}, *document["planes"]]
    document["drafter"]["input"] = ["embed", "low", "mid"]
    document["storage"] |= {"planes": ["embed", *document["storage"]["planes"]], "formats": {}}
    return Contract.model_validate_json(json.dumps(document))


def test_a_sound_dataset_gives_a_first_batch_that_passes(first_batch: First, contract: Contract) -> None:
    norm = load_file(next(embedded_target().glob("*.safetensors")))["model.norm.weight"]
    findings = guard(first_batch(declared_wiring(contract, FORMAT)), contract, norm_weight=norm)
    assert {item.verdict for item in findings} <= {Verdict.PASSED, Verdict.SKIPPED}
    observed = {item.observed for item in findings}
    assert "fc is fed cat(not R[0], not R[0], not R[0]), by rows of repeated tokens" in observed
    assert any(told.startswith("the last hidden state is pre-norm") for told in observed)


def test_the_story_is_told_before_a_step_is_spent(first_batch: First, contract: Contract, trained: Contract) -> None:
    """[embed, low, mid, high] on disk: the loader feeds all but the last, in the width that the drafter expects."""
    batch = first_batch(Wiring((0, 2, 4, 5), normed=False))
    assert batch["hidden_states"].shape[-1] == 3 * contract.target.hidden_size
    with pytest.raises(GuardError, match=r"fc is fed cat\(R\[0\], not R\[0\], not R\[0\]\)"):
        guard(batch, contract)
    assert guard(batch, trained)


def test_a_collator_without_its_shift_is_told_by_the_embedding(first_batch: First, trained: Contract) -> None:
    batch = first_batch(Wiring((0, 2, 4, 8), normed=False), shift=False)
    with pytest.raises(GuardError, match=r"the token beside state t is x\[t\]"):
        guard(batch, trained)


def test_a_final_state_that_is_normed_already_is_told_by_the_norms_weight(
    first_batch: First, contract: Contract
) -> None:
    """SpecForge's final state in speculators' files: the model norms it once more, and trains without a word."""
    norm = load_file(next(embedded_target().glob("*.safetensors")))["model.norm.weight"]
    batch = first_batch(Wiring(declared_wiring(contract, FORMAT).boundaries, normed=True))
    with pytest.raises(GuardError, match="the last hidden state is post-norm"):
        guard(batch, contract, norm_weight=norm)
