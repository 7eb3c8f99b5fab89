"""The suite's stage ``server`` (a live server), on what the options name: no server is part of the default."""

from eagle3_contracts.suite.test_server import test_clause

__all__ = ["test_clause"]
