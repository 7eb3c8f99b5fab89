"""speculators >= 0.5: an Arrow dataset, and ``hidden_states/hs_{row}.safetensors`` beside it (train/data.py).

``hidden_states`` [T, k+1, H], the last plane the verifier's final state before its norm; ``token_ids`` [T]. The loss
mask lies in the Arrow dataset only. A file whose token ids differ from the row's is dropped by the trainer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import Stacked
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry, StoredTensor

_ROW = re.compile(r"^hs_([0-9]{1,12})\.safetensors$")


def row_in_name(name: str) -> int | None:
    """Give the row of the Arrow dataset that a file's name tells; None if it tells none."""
    found = _ROW.match(name)
    return int(found[1]) if found else None


def row_of(entry: Entry) -> int | None:
    """Give the row of the Arrow dataset that an entry belongs to, from its file's name."""
    return row_in_name(entry.file.path.name)


@dataclass(frozen=True, slots=True)
class ArrowFormat(DatasetFormat):
    """Files that belong to rows of an Arrow dataset, which keeps their masks."""

    def marks(self, entry: Entry, neighbours: Neighbours) -> tuple[str, ...]:
        """Name the Arrow dataset, and the row in the file's name."""
        beside = ("an Arrow dataset lies beside it",) if neighbours.arrow is not None else ()
        return (("named hs_{row}",) if row_of(entry) is not None else ()) + beside

    def loss_mask(self, entry: Entry, neighbours: Neighbours) -> StoredTensor | None:
        """Give the mask of the file's row."""
        row = row_of(entry)
        if neighbours.arrow is None or row is None:
            return None
        return neighbours.arrow.column("loss_mask", row)


SPECULATORS_ARROW = ArrowFormat(
    "speculators-arrow",
    "speculators 0.5 to 0.9",
    "safetensors",
    (".safetensors",),
    Stacked("hidden_states", "token_ids"),
    tokens="token_ids",
    mask=None,
)
