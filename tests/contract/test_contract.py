"""The suite's stage ``contract`` (the document itself), on this repository's default or on what the options name."""

from eagle3_contracts.suite.test_contract import test_clause

__all__ = ["test_clause"]
