"""The ``golden.*`` clauses: a recording of target and drafter that others are held against."""

from __future__ import annotations

from collections.abc import Callable

from eagle3_contracts.suite import parametrize_with_clauses


@parametrize_with_clauses("golden")
def test_clause(contract_check: Callable[[], object]) -> None:
    """Hold one clause against one subject."""
    contract_check()
