"""Checkpoints: folders that trainers export drafters into, read into evidence.

Nothing under test is written to or executed; ``.bin`` files are read with ``weights_only``. What cannot be read is a
problem of the evidence, with its place, never left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import CheckpointEvidence


def gather(contract: Contract, subject: Subject, options: Options) -> CheckpointEvidence:
    """Read a checkpoint: its folder, or one file of weights with config.json beside it.

    With ``options.target``, its embedding is held against the target's. Raises ``SubjectError`` for a path that does
    not exist; everything else that is wrong is in the evidence's problems.
    """
    from eagle3_contracts.subjects.checkpoints.reading import read_checkpoint_evidence

    return read_checkpoint_evidence(contract, subject, options)


__all__ = ["gather"]
