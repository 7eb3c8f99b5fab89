"""The embedded target with its trained drafter, on text that the target itself wrote greedily."""

from __future__ import annotations

import pytest
import torch

from eagle3_contracts.accuracy import Passage, passage_from_states
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.goldens import Golden, open_golden
from eagle3_contracts.subjects.targets import Target, open_target

PROMPTS = ((0, 5, 51, 214, 87), (0, 7, 36, 243, 94), (0, 4, 108, 10))
WRITTEN = 40


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="session")
def golden() -> Golden:
    return open_golden(NAME, VERSION)


@pytest.fixture(scope="session")
def target(contract: Contract, golden: Golden) -> Target:
    return open_target(str(golden.target), contract)


@pytest.fixture(scope="session")
def drafter(contract: Contract, golden: Golden) -> ReferenceDrafter:
    assert golden.drafter
    return ReferenceDrafter(contract, read_drafter(golden.drafter, contract, golden.target))


@pytest.fixture(scope="session")
def written(contract: Contract, target: Target) -> list[Passage]:
    """Text that the target chose token by token, and its states."""
    passages = []
    for prompt in PROMPTS:
        tokens = list(prompt)
        for _ in range(WRITTEN):
            tokens.append(int(target.reference(tokens).logits[-1].argmax()))
        passages.append(passage_from_states(contract, target.reference(tokens)))
    assert all(isinstance(passage.tokens, torch.Tensor) for passage in passages)
    return passages
