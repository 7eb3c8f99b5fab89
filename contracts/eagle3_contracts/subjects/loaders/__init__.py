"""Training loaders under test: fed with samples that say in every row what they are, and read at step zero.

Light to import: what runs a loader is imported by ``gather``, and ``protocol`` needs neither numpy nor torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import LoaderEvidence

__all__ = ["gather"]


def gather(contract: Contract, subject: Subject, options: Options) -> LoaderEvidence:
    """Write datasets into temporary folders, and read each with the loader that ``subject`` names.

    Nothing of the user's data is touched. Raises ``SubjectError`` for a name that leads to no loader; what the
    code under test raises becomes a ``Problem``, or the outcome of a run.
    """
    from eagle3_contracts.subjects.loaders.gathering import gather_loader

    return gather_loader(contract, subject, options)
