"""Contracts for the hidden states of EAGLE-3 drafters, and the tests that hold every stage to them.

This module imports nothing when it is imported, so that the pytest plugin starts without torch, numpy or
pydantic. ``Captured``, what a capture under test returns, and ``Loader`` and ``StepZero``, what a loader under test
is and gives, are looked up when they are asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eagle3_contracts.subjects.captures.protocol import Captured
    from eagle3_contracts.subjects.loaders.protocol import Loader, StepZero

__all__ = ["Captured", "Loader", "StepZero", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Captured":
        from eagle3_contracts.subjects.captures.protocol import Captured

        return Captured
    if name in {"Loader", "StepZero"}:
        from eagle3_contracts.subjects.loaders import protocol

        return getattr(protocol, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
