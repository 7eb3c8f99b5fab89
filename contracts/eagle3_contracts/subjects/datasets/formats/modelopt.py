"""NVIDIA ModelOpt: ``{conversation_id}.pt`` (examples/speculative_decoding, torch/speculative/utils.py).

``hidden_states`` [T, H] is the last state here, after the final norm unless the file says ``hidden_states_prenorm``;
``aux_hidden_states`` [T, k*H] are the planes. Newer files hold a loss mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry

_FLAGS = ("hidden_states_prenorm", "base_hidden_prenorm")


@dataclass(frozen=True, slots=True)
class ModelOptFormat(DatasetFormat):
    """ModelOpt's files name themselves by their conversation, and say whether the last state is normed."""

    def marks(self, entry: Entry, neighbours: Neighbours) -> tuple[str, ...]:
        """Name the conversation id and the flag, which TorchSpec's files with the same tensors do not have."""
        named = DatasetFormat.marks(self, entry, neighbours)
        own = tuple(f"holds {key}" for key in ("conversation_id", *_FLAGS) if key in entry.values)
        return named + own

    def declared(self, entry: Entry) -> Mapping[str, bool]:
        """Give the flag that the last state is before the final norm, if the file holds it."""
        flags = [entry.values[key] for key in _FLAGS if isinstance(entry.values.get(key), bool)]
        return {"hidden_states_prenorm": bool(flags[0])} if flags else {}


MODELOPT = ModelOptFormat(
    "modelopt",
    "NVIDIA ModelOpt",
    "torch",
    (".pt",),
    SideBySide((("aux_hidden_states", "hidden_states"),)),
    mask_required=False,
)
