"""The suite's stage ``golden`` (a recording), on this repository's default or on what the options name."""

from eagle3_contracts.suite.test_golden import test_clause

__all__ = ["test_clause"]
