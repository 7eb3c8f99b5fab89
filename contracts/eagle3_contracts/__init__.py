"""Contracts for the hidden states of EAGLE-3 drafters, and the tests that hold every stage to them.

This module imports nothing, so that the pytest plugin starts without torch, numpy or pydantic.
"""

__version__ = "0.1.0"
