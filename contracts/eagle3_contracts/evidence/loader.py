"""What a training loader made of a dataset whose every row says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence.problem import Problem

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Scenario = Literal["sound", "overlong", "nonfinite", "row-missing", "row-surplus", "foreign", "corrupt", "missing"]

ZEROS, NOT_FINITE, STRANGE = -1, -2, -3
"""What ``sample``, ``plane`` and ``position`` say of a block that is no stored row: padding, NaN or infinite, other."""

BAD = 1
"""The place of the sample that is bad in every scenario but ``sound``: others stand before and after it."""


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A sample as it was written: its token ids and its loss mask; ``length`` is their number."""

    tokens: tuple[int, ...]
    mask: tuple[int, ...]

    @property
    def length(self) -> int:
        """The number of token ids."""
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class LoadedRows:
    """Step zero row by row, all batches one after the other, padding included.

    A block is one hidden size of fc's input; the last column of ``sample``, ``plane`` and ``position`` [R, F + 1] is
    the last hidden state (``STRANGE`` everywhere where ``last_dtype`` is None: the loader gives none). They name the
    stored row that the block carries, or say by a negative number that it is none. ``tokens`` [R]; ``trained`` [R]:
    the mask is not zero; ``masked``: the loader gives a mask (else all rows are trained). ``positions`` [R] or None.
    ``documents`` [R]: what attends to what, numbered over all batches, -1 padding; ``documents_given``: by the
    loader, else one for each sequence of a batch. ``batch`` and ``place`` [R]: where the row stands.
    ``targets`` [R] or None: the token id that the row is trained towards; ``vocabulary`` [V] or None: the draft
    vocabulary. ``amplitude`` [F + 1]: mean absolute value of the decoded blocks, 1 as stored (NaN: none decoded).
    """

    sample: Codes
    plane: Codes
    position: Codes
    tokens: Codes
    trained: Flags
    documents: Codes
    batch: Codes
    place: Codes
    amplitude: npt.NDArray[np.float64]
    fc_dtype: str
    last_dtype: str | None
    masked: bool = True
    documents_given: bool = True
    positions: Codes | None = None
    targets: Codes | None = None
    vocabulary: Flags | None = None

    @property
    def fed(self) -> int:
        """The number of planes in fc's input."""
        return int(self.sample.shape[1]) - 1

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class LoaderRun:
    """One dataset, read once. ``samples``: as written.

    ``rows``: what came before the end, or before ``refusal``, what the loader raised. ``reports``: warnings, log
    records, printed lines, and the loader's own count of samples left out. ``misfit``: why what it gave is no step
    zero. ``changed`` and ``added``: files of the dataset that were written to or removed, and new ones beside them.
    ``stopped``: reading was ended after many batches, since the loader does not end by itself.
    """

    samples: tuple[Sentinel, ...]
    rows: LoadedRows | None = None
    refusal: str = ""
    misfit: Problem | None = None
    reports: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class LoaderEvidence:
    """All runs of a loader. ``format``: of the datasets that were written for it; ``stored``: their planes in order.

    ``stored_dtype``: of those planes. ``max_length``: rows that a sample may have, as far as the loader says so.
    ``skipped``: scenarios that were not run, with the reason. ``problems``: why there is no run at all.
    """

    subject: str
    format: str = ""
    stored: tuple[str, ...] = ()
    stored_dtype: str = ""
    max_length: int | None = None
    runs: Mapping[str, LoaderRun] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
