"""What the target lends to a drafter, and how the drafter's own embedding compares with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, CheckpointEvidence, EmbeddingComparison
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.datasets.stored import FLOATS, StoredTensor, widen_bits
from eagle3_contracts.subjects.targets.parts import Part, locate_parts
from eagle3_contracts.subjects.targets.tensors import TensorFiles, find_files

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

ROWS, LAST = 256, 64
"""Rows that are compared: drawn ones, ends of text, and the last, where tokens are added."""


@dataclass(frozen=True, slots=True)
class Lender:
    """The target's files and the names of its parts; ``read`` gives a part whole."""

    files: TensorFiles
    parts: Mapping[Part, str]

    def read(self, part: Part) -> Array | None:
        """Read a part, or None if the target at hand has none."""
        name = self.parts.get(part)
        return None if name is None else self.files.read(name)


def hold_against_target(
    evidence: CheckpointEvidence, contract: Contract, stored: Mapping[str, StoredTensor], options: Options
) -> tuple[CheckpointEvidence, Lender | None]:
    """Compare the embedding with the target's, and give the target for what it lends; a note if it has none."""
    if options.target is None:
        return evidence, None
    path = Path(options.target)
    try:
        files = find_files(path) if path.is_dir() else TensorFiles([path])
    except SubjectError as error:
        note = f"the target's tensors could not be read: {error.reason}"
        return dataclasses.replace(evidence, notes=(*evidence.notes, note)), None
    lender = Lender(files, locate_parts(files, tied=contract.target.tied_embedding))
    name, own = lender.parts.get("embedding"), stored.get("embed_tokens.weight")
    if name is None or own is None or own.dtype not in FLOATS or own.shape != files.tensors[name].shape:
        return evidence, lender
    rows = _choose_rows(own.shape[0], evidence.special_tokens.values(), options.seed)
    target = files.read(name, rows).astype(np.float64)
    mine = widen_bits(np.ascontiguousarray(own.bits[rows]), own.dtype).astype(np.float64)
    sizes = np.maximum(np.linalg.norm(target, axis=1), 1e-30)
    distances = np.linalg.norm(mine - target, axis=1) / sizes
    return dataclasses.replace(evidence, embedding=EmbeddingComparison(rows, distances)), lender


def _choose_rows(size: int, special: Iterable[int], seed: int) -> npt.NDArray[np.int64]:
    """Give the rows to compare, in rising order; all of a small vocabulary."""
    if size <= ROWS:
        return np.arange(size)
    drawn = np.random.default_rng(seed).integers(0, size, ROWS)
    known = [item for item in special if 0 <= item < size]
    return np.unique(np.concatenate([drawn, np.arange(max(0, size - LAST), size), np.array(known, np.int64)]))
