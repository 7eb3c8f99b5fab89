"""Capture code under test: run on seeded requests, its answers turned into ``CaptureEvidence``.

Light to import: what runs a capture is imported by ``gather``, and ``protocol.Captured`` needs neither numpy
nor torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import CaptureEvidence

__all__ = ["gather"]


def gather(
    contract: Contract, subject: Subject, options: Options, requests: Sequence[Sequence[int]] | None = None
) -> CaptureEvidence:
    """Run the capture that ``subject`` names and hold it against the target, if there is one.

    ``requests``: token ids to run in place of the seeded ones. Raises ``SubjectError`` for a name that leads to
    no capture; what the code under test raises becomes a ``Problem``.
    """
    from eagle3_contracts.subjects.captures.gathering import gather_capture

    return gather_capture(contract, subject, options, requests)
