"""Contracts for the hidden states of EAGLE-3 drafters, and the tests that hold every stage to them.

This module imports nothing when it is imported, so that the pytest plugin starts without torch, numpy or
pydantic. ``eagle3_contracts.Captured``, what a capture under test returns, is looked up when it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eagle3_contracts.subjects.captures.protocol import Captured

__all__ = ["Captured", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Captured":
        from eagle3_contracts.subjects.captures.protocol import Captured

        return Captured
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
