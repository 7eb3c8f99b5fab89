"""The story on a GPU: ids one late, and one step where 16 tokens are asked for, are found there too."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from support.gpu.servers import Examined

pytestmark = [pytest.mark.live, pytest.mark.gpu]


def judge(examined: Mapping[str, Examined], contract: Contract, clause_id: str) -> Finding:
    (clause,) = [item for item in clauses_of("server") if item.id == clause_id]
    (finding,) = judge_clause(clause, contract, examined["wrong ids"].evidence)
    return finding


def test_the_boundaries_found_and_the_ids_to_write_are_named(
    examined: Mapping[str, Examined], contract: Contract
) -> None:
    boundary = judge(examined, contract, "server.boundary")
    assert boundary.verdict is Verdict.FAILED
    assert boundary.observed.startswith("planes are boundaries 3, 5, 6")
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in boundary.hint


def test_two_of_sixteen_draft_tokens_are_in_effect(examined: Mapping[str, Examined], contract: Contract) -> None:
    tokens = judge(examined, contract, "server.draft-tokens")
    assert (tokens.verdict, tokens.measure) == (Verdict.FAILED, 2.0)
    assert tokens.observed.startswith("2 of 16 draft tokens are in effect")
