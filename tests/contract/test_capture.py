"""The suite's stage ``capture`` (code that runs the target), on the default here or on what the options name."""

from eagle3_contracts.suite.test_capture import test_clause

__all__ = ["test_clause"]
