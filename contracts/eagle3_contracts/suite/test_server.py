"""The ``server.*`` clauses: a live server, by what it says of itself and by what it answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eagle3_contracts.suite import parametrize_with_clauses


@pytest.mark.live
@parametrize_with_clauses("server")
def test_clause(contract_check: Callable[[], object]) -> None:
    """Hold one clause against one subject."""
    contract_check()
