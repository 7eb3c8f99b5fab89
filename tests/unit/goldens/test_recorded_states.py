"""What is recorded is what the stored weights compute, by both routes, and is worth checking against."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.numerics import float32_to_bfloat16, relative_l2
from eagle3_contracts.recording.sequences import dataset_samples, recorded_sequences
from eagle3_contracts.subjects.goldens import Golden
from eagle3_contracts.subjects.targets import Target, open_target


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="session", params=["numpy", "torch"])
def target(request: Any, golden: Golden, contract: Contract) -> Target:
    return open_target(str(golden.target), contract, route=request.param)


def parts(states: ReferenceStates) -> tuple[np.ndarray, ...]:
    return states.boundaries, states.final, states.logits


def test_there_are_sequences_of_many_lengths_with_repeats(golden: Golden) -> None:
    lengths = [len(golden.states(number).token_ids) for number in range(len(golden))]
    assert len(set(lengths)) == len(lengths) >= 8
    assert sum(length >= 64 for length in lengths) >= 2
    assert min(lengths) == 1
    longest = golden.states(int(np.argmax(lengths))).token_ids
    assert len(set(longest.tolist())) < len(longest)


def test_the_weights_compute_what_is_recorded(golden: Golden, target: Target) -> None:
    for number, item in enumerate(golden.manifest["sequences"]):
        recorded = golden.states(number)
        for own, stored in zip(parts(target.reference(recorded.token_ids)), parts(recorded), strict=True):
            assert own.shape == stored.shape
            if item["dtype"] == "float32":
                assert relative_l2(stored, own).max() < 1e-5
            else:
                assert relative_l2(stored, own).max() < 0.004


def test_rounded_states_are_the_same_bits_but_for_ties(golden: Golden, target: Target) -> None:
    """A relative error of 1e-5 would already turn about one bit pattern in 400 into its neighbour."""
    total = differing = 0
    for number, item in enumerate(golden.manifest["sequences"]):
        if item["dtype"] != "bfloat16":
            continue
        recorded = golden.states(number)
        for own, stored in zip(parts(target.reference(recorded.token_ids)), parts(recorded), strict=True):
            differing += int((float32_to_bfloat16(own) != float32_to_bfloat16(stored)).sum())
            total += own.size
    assert total > 100_000
    assert differing / total < 1e-3


def test_neighbouring_boundaries_can_be_told_apart(golden: Golden) -> None:
    states = np.concatenate([golden.states(number).boundaries for number in range(len(golden))], axis=1)
    for low, high in pairwise(states):
        assert min(np.median(relative_l2(low, high)), np.median(relative_l2(high, low))) > 0.1


def test_norms_grow_and_lie_in_the_declared_ranges(golden: Golden, contract: Contract) -> None:
    text = [
        at for at, item in enumerate(golden.manifest["sequences"]) if item["kind"] == "text" and item["length"] > 20
    ]
    states = [golden.states(number) for number in text]
    norms = np.concatenate([np.linalg.norm(item.boundaries, axis=-1) for item in states], axis=1)
    medians = np.median(norms, axis=-1)
    assert (np.diff(medians) > 0).all()
    final = np.median(np.concatenate([np.linalg.norm(item.final, axis=-1) for item in states]))
    for plane in contract.planes:
        assert plane.norm is not None
        low, high = plane.norm.median
        assert low < (final if plane.state == "post_norm" else medians[plane.boundary]) < high


def test_the_sequences_are_drawn_as_the_manifest_records_them(golden: Golden) -> None:
    drawn = [list(item.token_ids) for item in recorded_sequences()]
    assert drawn == [item["token_ids"] for item in golden.manifest["sequences"]]


def test_every_format_holds_what_its_planes_say(golden: Golden, contract: Contract, target: Target) -> None:
    import torch
    from safetensors.torch import load_file

    assert set(golden.datasets) == {"speculators-v1", "specforge", "vllm-connector"}
    for number, (ids, mask) in enumerate(dataset_samples()):
        states = target.reference(ids)
        listed = torch.load(golden.datasets["speculators-v1"] / f"data_{number}.pt", weights_only=True)
        packed = torch.load(golden.datasets["specforge"] / "rows_0-2000" / f"data_{number}.ckpt", weights_only=True)
        stacked = load_file(golden.datasets["vllm-connector"] / f"{number}.safetensors")
        found = {
            "speculators-v1": listed["hidden_states"],
            "specforge": [*packed["aux_hidden_state"][0].chunk(3, dim=-1), packed["hidden_state"][0]],
            "vllm-connector": list(stacked["hidden_states"].unbind(1)),
        }
        for name, planes in found.items():
            for plane, values in zip(contract.stored_planes(name), planes, strict=True):
                assert values.dtype is torch.bfloat16
                expected = states.final if plane.state == "post_norm" else states.boundaries[plane.boundary]
                assert np.median(relative_l2(values.float().numpy(), expected)) < 0.003
        for read in (listed["input_ids"], packed["input_ids"], stacked["token_ids"]):
            assert read.tolist() == list(ids)
        for read in (listed["loss_mask"], packed["loss_mask"]):
            assert read.tolist() == list(mask)
        assert set(mask) == {0, 1}
        assert len(set(ids)) < len(ids)
