"""Two targets with sequences to learn from: the Kimi-like toy of the story, and the embedded default."""

from __future__ import annotations

import random

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.recording.language import Language
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.subjects.targets import open_target
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens
from support.toy_drafters import School


@pytest.fixture(scope="session")
def kimi_school(tmp_path_factory: pytest.TempPathFactory) -> School:
    """Random weights predict nothing that a text says, so drafters learn the target's own choices by heart."""
    contract = scale_down(load_contract("kimi-k2.5-eagle3@2.0.0"))
    target = open_target(str(kimi_toy(tmp_path_factory.mktemp("kimi"))), contract)
    return School(contract, target, [target.reference(toy_tokens(32, seed=seed)) for seed in range(40)])


@pytest.fixture(scope="session")
def embedded_school() -> School:
    contract = load_contract(CONTRACT)
    target = open_target(str(embedded_target()), contract)
    language, draw = Language(LANGUAGE_SEED), random.Random(808)  # noqa: S311 (a language, no secret)
    return School(contract, target, [target.reference(language.sequence(40, draw)[0]) for _ in range(48)])
