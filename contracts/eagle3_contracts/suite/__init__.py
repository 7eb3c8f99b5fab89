"""The tests that users run, one module per stage, and the way to run a stage's clauses from a test of one's own.

``pytest --pyargs eagle3_contracts.suite --contract NAME --contract-hidden-states DIR`` runs them all. To check a
subject that only your own code can make, override the fixture ``contract_subject``::

    from eagle3_contracts.suite import parametrize_with_clauses

    @pytest.fixture(scope="session")
    def contract_subject(dumped_dataset):
        return dumped_dataset          # a path; for a capture, the function itself

    @parametrize_with_clauses("dataset")
    def test_dump(contract_check):
        contract_check()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from eagle3_contracts.registry import STAGES

Test = TypeVar("Test", bound=Callable[..., Any])


def parametrize_with_clauses(stage: str) -> Callable[[Test], Test]:
    """Run a test once per clause of a stage and subject; it takes ``contract_check`` and calls it.

    Raises ``ValueError`` for a stage that this version does not have.
    """
    if stage not in STAGES:
        raise ValueError(f"no stage {stage!r}; this version has {', '.join(STAGES)}")
    return pytest.mark.contract(stage)


__all__ = ["parametrize_with_clauses"]
