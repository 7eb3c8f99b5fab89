"""The suite's stage ``launch`` (the command line), on this repository's default or on what the options name."""

from eagle3_contracts.suite.test_launch import test_clause

__all__ = ["test_clause"]
