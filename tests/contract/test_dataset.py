"""The suite's stage ``dataset`` (hidden states on disk), on this repository's default or on what the options name."""

from eagle3_contracts.suite.test_dataset import test_clause

__all__ = ["test_clause"]
