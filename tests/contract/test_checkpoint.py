"""The suite's stage ``checkpoint`` (exported drafters), on this repository's default or on what the options name."""

from eagle3_contracts.suite.test_checkpoint import test_clause

__all__ = ["test_clause"]
