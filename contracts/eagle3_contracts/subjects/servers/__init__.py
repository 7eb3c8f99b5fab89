"""Live servers: asked over HTTP what they are, then probed, and held against target and drafter run here.

A subject is the URL of a server that runs, or the word ``launch`` for one that is started for the test: ``launch``
or ``launch:eagle3`` drafts, ``launch:capture`` returns the planes and drafts nothing, ``launch:plain`` does neither.
A URL may say what its server is for: ``capture=http://HOST:PORT``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence.server import ServerEvidence
    from eagle3_contracts.subjects.servers.transport import Limits

__all__ = ["gather"]


def gather(contract: Contract, subject: Subject, options: Options, limits: Limits | None = None) -> ServerEvidence:
    """Ask and probe the server that ``subject`` names, or start one; hold its answers against the target.

    Raises ``SubjectError`` for what is no URL and no kind of launch; whatever the server does is evidence.
    """
    from eagle3_contracts.subjects.servers.gathering import gather_server

    return gather_server(contract, subject, options, limits)
