"""The toy target of the tests is like the story's model where that matters, and quick to make."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.findings import Rung
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets import open_target
from support.scaling import scale_down
from support.targets import STORY_NORMS, kimi_toy, toy_tokens

STORY = "kimi-k2.5-eagle3"


@pytest.fixture(scope="module", params=["1.0.0", "2.0.0", "3.0.0"])
def contract(request: pytest.FixtureRequest) -> Contract:
    return load_contract(f"{STORY}@{request.param}")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> ReferenceStates:
    folder = kimi_toy(tmp_path_factory.mktemp("toy"))
    target = open_target(str(folder), scale_down(load_contract(STORY)), route="torch")
    assert target.rung is Rung.FULL
    return target.reference(toy_tokens(200))


def test_one_seed_is_one_target(tmp_path: Path) -> None:
    first, again, other = (
        kimi_toy(tmp_path / name, layers=7, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert (first / "model.safetensors").read_bytes() == (again / "model.safetensors").read_bytes()
    assert (first / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()


def test_its_norms_are_like_the_storys(states: ReferenceStates) -> None:
    medians = np.median(np.linalg.norm(states.boundaries, axis=-1), axis=-1)
    for boundary, norm in STORY_NORMS.items():
        assert medians[boundary] == pytest.approx(norm, rel=0.2)


def test_neighbouring_boundaries_can_be_told_apart(states: ReferenceStates) -> None:
    for low, high in pairwise(states.boundaries):
        assert min(np.median(relative_l2(low, high)), np.median(relative_l2(high, low))) > 0.15


def test_repeated_tokens_are_equal_at_the_embedding_alone(states: ReferenceStates) -> None:
    ids = states.token_ids
    pairs = [(a, b) for a in range(len(ids)) for b in range(a) if ids[a] == ids[b]]
    assert len(pairs) > 100
    shares = [np.mean([(rows[a] == rows[b]).all() for a, b in pairs]) for rows in states.boundaries]
    assert shares[0] == 1
    assert max(shares[1:]) == 0


def test_a_scaled_contract_keeps_all_that_is_not_a_size(contract: Contract) -> None:
    small = scale_down(contract)
    assert (small.target.hidden_size, small.target.vocab_size, small.target.num_hidden_layers) == (64, 256, 61)
    for kept in ("name", "version", "planes", "storage", "alignment", "tolerance"):
        assert getattr(small, kept) == getattr(contract, kept)
    for kept in ("input", "last_hidden", "d2t", "embedding", "fc", "residual", "recurrent", "head_norm", "rope"):
        assert getattr(small.drafter, kept) == getattr(contract.drafter, kept)
