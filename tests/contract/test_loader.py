"""The suite's stage ``loader`` (what a training script feeds its drafter), on the default or on what options name."""

from eagle3_contracts.suite.test_loader import test_clause

__all__ = ["test_clause"]
