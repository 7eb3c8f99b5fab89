"""Dialects: how each tool turns layer ids into planes. The one normative table is ``DIALECTS``."""

from eagle3_contracts.dialects.dialect import Dialect, NotVerified, Tool
from eagle3_contracts.dialects.inverse import Inverse, Refusal, invert
from eagle3_contracts.dialects.resolution import Outcome, Resolution
from eagle3_contracts.dialects.table import DIALECTS, TOOLS, dialects_of, find_dialect, find_tool

__all__ = [
    "DIALECTS",
    "TOOLS",
    "Dialect",
    "Inverse",
    "NotVerified",
    "Outcome",
    "Refusal",
    "Resolution",
    "Tool",
    "dialects_of",
    "find_dialect",
    "find_tool",
    "invert",
]
