"""What CUDA graphs replay are the states that are computed without them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eagle3_contracts.contract import Contract
from support.gpu.record import Record
from support.gpu.replay import compare_replay
from support.gpu.servers import REPLAYED, Examined, eager_twin

pytestmark = [pytest.mark.live, pytest.mark.gpu]


@pytest.mark.parametrize("name", REPLAYED)
def test_rows_are_the_same_with_graphs_and_without(
    examined: Mapping[str, Examined], record: Record, contract: Contract, name: str
) -> None:
    twin = eager_twin(name)
    found = compare_replay(contract, name, examined[name].evidence, twin, examined[twin].evidence)
    record.replays[name] = found
    assert found.prompt_rows, "no rows of prompts"
    assert found.later_rows, "no rows of generated tokens, which are what graphs replay"
    assert found.prompt_median <= found.bound
    assert found.later_median <= found.bound
