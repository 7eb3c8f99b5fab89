"""Datasets: hidden states on disk, in every format that the capture tools write, read into evidence.

Nothing under test is written to, executed or unpickled beyond tensors; what cannot be read is a problem of the
evidence, counted and located, never skipped.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import Options, Subject

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import DatasetEvidence


def gather(contract: Contract, subject: Subject, options: Options) -> DatasetEvidence:
    """Read a dataset: a folder or one file; ``FORMAT:PATH`` says the format where files leave it open.

    With ``options.target``, some samples are held against the target's weights. Raises ``SubjectError`` for a path
    that does not exist or may not be read; everything else that is wrong is in the evidence's problems.
    """
    from eagle3_contracts.subjects.datasets.probing import hold_against_target
    from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset

    reading = read_dataset(open_source(subject.label, subject.value, contract, options))
    return hold_against_target(reading, contract)


def inspect_dataset(path: str | Path, options: Options | None = None) -> dict[str, Any]:
    """Describe a dataset without a contract, as JSON-ready values.

    Format, shapes, norms, ids and masks, and which contracts of the catalog it can fit and why not. Raises
    ``SubjectError`` as ``gather`` does.
    """
    from eagle3_contracts.subjects.datasets.inspecting import describe_reading
    from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset

    chosen = dataclasses.replace(options or Options(), target=None)
    return describe_reading(read_dataset(open_source(str(path), str(path), None, chosen)))


__all__ = ["gather", "inspect_dataset"]
