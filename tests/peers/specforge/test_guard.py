"""``guard`` on what SpecForge 0.2.0's own loaders give: the dataset class and the data plane, before TargetHead shifts.

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

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]
First = Callable[[Wiring], Any]
FORMAT, LONGEST = "specforge", 256
PLANE = "specforge.runtime.data_plane"


@pytest.fixture
def data(tmp_path: Path) -> Callable[[Wiring], Path]:
    def write(wiring: Wiring) -> Path:
        write_dataset(tmp_path / "states", FORMAT, make_samples(wiring), "bfloat16")
        return tmp_path / "states"

    return write


@pytest.fixture(params=["dataset class", "data plane"])
def first_batch(request: pytest.FixtureRequest, peer: Peer, data: Callable[[Wiring], Path]) -> First:
    """Give the first batch of each of the two real loaders, all samples padded to the longest."""

    def by_class(wiring: Wiring) -> Any:
        preprocessing = peer("specforge.data.preprocessing")
        files = preprocessing.list_local_files(str(data(wiring)))
        dataset = preprocessing.OfflineEagle3Dataset(files, max_len=LONGEST)
        return peer("specforge.data.utils").DataCollatorWithPadding()([dataset[at] for at in range(len(files))])

    def by_plane(wiring: Wiring) -> Any:
        features = peer("specforge.algorithms.eagle3.data")
        refs = peer(f"{PLANE}.offline_reader").OfflineManifestReader(str(data(wiring)), max_len=LONGEST).read()
        loader = peer(f"{PLANE}.feature_dataloader").FeatureDataLoader(
            peer(f"{PLANE}.feature_store").LocalFeatureStore(),
            refs=refs,
            batch_size=len(refs),
            per_sample_transform=features.build_offline_normalizer(LONGEST),
            collate_fn=features.build_offline_collator(),
        )
        return next(iter(loader))

    def load(wiring: Wiring) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return by_class(wiring) if request.param == "dataset class" else by_plane(wiring)

    return load


@pytest.fixture
def norm_weight() -> torch.Tensor:
    return load_file(next(embedded_target().glob("*.safetensors")))["model.norm.weight"]


@pytest.fixture
def trained(contract: Contract) -> Contract:
    """The contract of a drafter that is fed the embedding, as the story's was."""
    document = json.loads(contract.model_dump_json(by_alias=True, exclude_none=True))
    document["planes"] = [{"name": "embed", "boundary": 0}, *document["planes"]]
    document["drafter"]["input"] = ["embed", "low", "mid"]
    stored = ["embed", "low", "mid"]
    document["storage"] |= {"planes": [*stored, "high", "final"], "formats": {"specforge": [*stored, "final_post"]}}
    return Contract.model_validate_json(json.dumps(document))


def test_a_sound_dataset_passes_with_the_final_state_that_this_format_keeps(
    first_batch: First, contract: Contract, norm_weight: torch.Tensor
) -> None:
    findings = guard(first_batch(declared_wiring(contract, FORMAT)), contract, norm_weight=norm_weight)
    assert {item.verdict for item in findings} <= {Verdict.PASSED, Verdict.SKIPPED}
    observed = {item.observed for item in findings}
    assert "fc is fed cat(not R[0], not R[0], not R[0]), by rows of repeated tokens" in observed
    assert any(told.startswith("the last hidden state is post-norm") for told in observed)


def test_the_story_is_told_before_a_step_is_spent(first_batch: First, contract: Contract, trained: Contract) -> None:
    batch = first_batch(Wiring((0, 2, 4, 8), normed=True))
    with pytest.raises(GuardError, match=r"fc is fed cat\(R\[0\], not R\[0\], not R\[0\]\)"):
        guard(batch, contract)
    findings = guard(batch, trained)
    assert "the token beside state t is x[t+1], by rows of repeated tokens" in {item.observed for item in findings}


def test_a_final_state_that_was_never_normed_is_told_by_the_norms_weight(
    first_batch: First, contract: Contract, norm_weight: torch.Tensor
) -> None:
    """speculators' last plane in SpecForge's files: TargetHead has no norm, and takes targets from what is there."""
    batch = first_batch(Wiring(declared_wiring(contract, FORMAT).boundaries, normed=False))
    with pytest.raises(GuardError, match="the last hidden state is pre-norm"):
        guard(batch, contract, norm_weight=norm_weight)
