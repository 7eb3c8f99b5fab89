"""vLLM's ``ExampleHiddenStatesConnector``: ``{request id}.safetensors`` with a lock file beside it.

``hidden_states`` [T, k, H] in ascending order of the ids (0.33: an id n is boundary n, before the final norm),
``token_ids`` [T]; no mask.
"""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.speculators_arrow import row_of
from eagle3_contracts.subjects.datasets.formats.states import Stacked
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry


@dataclass(frozen=True, slots=True)
class ConnectorFormat(DatasetFormat):
    """The connector's files are those of speculators without the rows of an Arrow dataset in their names."""

    def marks(self, entry: Entry, neighbours: Neighbours) -> tuple[str, ...]:
        """Name what tells a request's file from a dataset's row: its name."""
        return () if neighbours.arrow is not None or row_of(entry) is not None else ("named by a request id",)


VLLM_CONNECTOR = ConnectorFormat(
    "vllm-connector",
    "vLLM ExampleHiddenStatesConnector",
    "safetensors",
    (".safetensors",),
    Stacked("hidden_states", "token_ids"),
    tokens="token_ids",
    mask=None,
)
