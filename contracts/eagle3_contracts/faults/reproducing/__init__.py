"""Reproducers: one Python file that shows a fault without this project, fit for an upstream issue.

The file holds small recordings of the sound and the faulty side, writes both, reads them with plain code, and says
what differs and by how much. What is code (captures, loaders, servers) is recorded as what it gave.
"""

from __future__ import annotations

from eagle3_contracts.faults.reproducing.composing import compose_reproducer, reproduce_fault

__all__ = ["compose_reproducer", "reproduce_fault"]
