"""Two faults at once."""

from __future__ import annotations

Pair = tuple[str, str]

PAIRS: tuple[Pair, ...] = ()
"""Pairs of faults whose clauses both fail."""

MASKED: dict[Pair, str] = {}
"""Pairs of which the first keeps the second's clause from being checked, and why."""
