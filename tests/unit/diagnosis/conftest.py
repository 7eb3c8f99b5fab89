"""The Kimi-like toy with a sound drafter, trained once on cat(embed, low, mid), as its contract says."""

from __future__ import annotations

import pytest
from torch import Tensor

from eagle3_contracts.contract import load_contract
from eagle3_contracts.subjects.targets import open_target
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens
from support.toy_drafters import School


@pytest.fixture(scope="session")
def school(tmp_path_factory: pytest.TempPathFactory) -> School:
    contract = scale_down(load_contract("kimi-k2.5-eagle3@2.0.0"))
    target = open_target(str(kimi_toy(tmp_path_factory.mktemp("kimi"))), contract)
    return School(contract, target, [target.reference(toy_tokens(32, seed=seed)) for seed in range(40)])


@pytest.fixture(scope="session")
def sound(school: School) -> dict[str, Tensor]:
    return school.train((0, 3, 31))
