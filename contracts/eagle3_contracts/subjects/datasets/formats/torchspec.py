"""TorchSpec: ``*.ckpt`` for its offline dataset, and ``samples/*.pt`` of its later replay dataset.

Offline (data/preprocessing.py): ``hidden_states`` is the last state, ``aux_hidden_states`` the planes, a batch axis
is dropped. Replay (offline/dataset.py, schema version 1): ``hidden_states`` [1, T, k*H] are the planes,
``last_hidden_states`` [1, T, H] the last state, the mask a text of run lengths that begins with zeros
(``packed_loss_mask``, "2,3" is 0 0 1 1 1); ``dataset.json`` says whether the last state is before the norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.formats.scheme import BatchAxis, DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry, StoredTensor, UnreadableError

PACKED = "packed_loss_mask"
_LONGEST = 1 << 24


@dataclass(frozen=True, slots=True)
class TorchSpecFormat(DatasetFormat):
    """TorchSpec's files: the offline layout keeps a mask tensor, the replay layout a packed one."""

    def marks(self, entry: Entry, neighbours: Neighbours) -> tuple[str, ...]:
        """Name the ending, a batch axis on the states, and the replay dataset's keys."""
        states = entry.values.get("hidden_states")
        batched = isinstance(states, StoredTensor) and len(states.shape) == 3
        packed = (f"holds {PACKED}",) if PACKED in entry.values else ()
        batch = ("hidden_states has a batch axis",) if batched else ()
        return DatasetFormat.marks(self, entry, neighbours) + batch + packed

    def missing_keys(self, entry: Entry) -> tuple[str, ...]:
        """Name the required keys that are missing; a packed mask stands for the mask."""
        missing = DatasetFormat.missing_keys(self, entry)
        packed = isinstance(entry.values.get(PACKED), str)
        return tuple(key for key in missing if not (packed and key == self.mask))

    def loss_mask(self, entry: Entry, neighbours: Neighbours) -> StoredTensor | None:
        """Give the mask, unpacked from its run lengths in the replay layout."""
        packed = entry.values.get(PACKED)
        if not isinstance(packed, str):
            return DatasetFormat.loss_mask(self, entry, neighbours)
        try:
            runs = [int(part) for part in packed.split(",")] if packed else []
        except ValueError:
            runs = [-1]
        if any(run < 0 for run in runs) or sum(runs) > _LONGEST:
            where = Where(file=entry.place, tensor=PACKED)
            reason = "is no text of run lengths like 2,3,2"
            raise UnreadableError("corrupt", reason, "write the sample again", where)
        values = np.arange(len(runs), dtype=np.int64) % 2
        return StoredTensor("int64", np.repeat(values, np.asarray(runs, dtype=np.int64)))


TORCHSPEC = TorchSpecFormat(
    "torchspec",
    "TorchSpec",
    "torch",
    (".ckpt",),
    SideBySide((("aux_hidden_states", "hidden_states"), ("hidden_states", "last_hidden_states"))),
    batch_axis=BatchAxis.DROPPED,
    token_axis=BatchAxis.DROPPED,
)
