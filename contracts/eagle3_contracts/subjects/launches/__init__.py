"""Launch commands: what will start a server, read by parsing alone, with the line of every flag.

Nothing is run and nothing of an engine is imported; a value that only the run decides is kept as undecided.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import LaunchEvidence


def gather(contract: Contract, subject: Subject, options: Options) -> LaunchEvidence:
    """Read a launch command: a file that holds it, or the command line itself.

    Raises ``SubjectError`` for what is neither a file nor looks like a command; everything else that is wrong is in
    the evidence's problems.
    """
    del contract
    from eagle3_contracts.subjects.launches.reading import read_launch

    return dataclasses.replace(read_launch(subject.label, subject.value), drafter=options.drafter or "")


__all__ = ["gather"]
