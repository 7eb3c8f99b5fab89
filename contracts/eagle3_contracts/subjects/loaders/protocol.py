"""The loader protocol: what a training loader under test is, and what it gives.

Standard library only, so that users import ``StepZero`` and ``Loader`` without numpy or torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class StepZero:
    """One batch as it reaches the drafter and its loss at step 0, after every shift: N rows, or B sequences of N.

    ``fc_input`` [N, P*H] or [B, N, P*H]: the concatenated planes. ``tokens``: the ids that are embedded beside them.
    ``last_hidden`` [.., H]: the state that the row's training target is computed from; None if targets are made
    otherwise. ``mask``: rows that the loss counts. ``positions``: rotary positions; None if the drafter counts itself.
    ``documents``: a number per row, rows with equal ones attend to each other, negative is padding; None if every
    sequence of the batch is one document. ``targets``: the token id, of the whole vocabulary, that the row is trained
    towards, where the loader knows it, with ``vocabulary`` [V], true for the ids in the draft vocabulary.
    ``left_out``: samples that the loader counts as dropped from this batch.
    """

    fc_input: Any
    tokens: Any
    last_hidden: Any = None
    mask: Any = None
    positions: Any = None
    documents: Any = None
    targets: Any = None
    vocabulary: Any = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class StoredSample:
    """A sample to write: token ids [T], planes float32 [P, T, H] in the order of the contract's storage, mask [T].

    ``state_tokens``: the ids stored beside the states, where a format keeps ids twice; None for the same.
    """

    tokens: Sequence[int]
    planes: Any
    mask: Sequence[int]
    state_tokens: Sequence[int] | None = None


Write = Callable[[Path, Sequence[StoredSample], str], Sequence[Path]]
"""Write samples into a folder, planes in a dtype (a torch name); give each sample's file of states."""


@dataclass(frozen=True, slots=True)
class Loader:
    """A training loader as the user's script configures it.

    ``read``: from the folder of a dataset to batches, one epoch of them. ``format``: the dataset format it reads
    (``speculators-v1``, ``speculators-arrow``, ``specforge``, ...); another name needs ``write``. ``max_length``: the
    rows of a sample beyond which it is cut, None if that never happens or nobody knows.
    """

    read: Callable[[Path], Iterable[StepZero]]
    format: str
    max_length: int | None = None
    write: Write | None = None


Factory = Callable[[Any], Loader]
"""Code under test: called with the contract, it gives the loader."""
