from __future__ import annotations

import pytest

from eagle3_contracts.testing.marks import asks_for


@pytest.mark.parametrize(
    "expression",
    [
        "contract",
        "contract and not gpu",
        "contract and gpu",
        "contract or gpu",
        "(contract)",
        "not (not contract)",
        "contract(stage='dataset')",
        "contract and peer(name='specforge')",
        "contract +",
    ],
)
def test_an_expression_that_selects_clauses_for_their_own_sake_asks_for_them(expression: str) -> None:
    assert asks_for(expression, "contract")


@pytest.mark.parametrize(
    "expression", ["", "gpu", "not contract", "not (contract or gpu)", "gpu and not contract", "contracts", "not live"]
)
def test_an_expression_that_leaves_clauses_out_does_not(expression: str) -> None:
    assert not asks_for(expression, "contract")
