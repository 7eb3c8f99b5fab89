"""SpecForge: ``rows_*/data_{i}.ckpt`` of 0.1 and 0.2, ``.ckpt.gz`` of 0.2 (algorithms/eagle3/providers.py).

``hidden_state`` [1, T, H] is the last state, after the final norm; ``aux_hidden_state`` [1, T, 3H] the planes. The
loader drops the states' batch axis and accepts files without one; ``input_ids`` and ``loss_mask`` are [T]
(data/preprocessing.py, ``OfflineEagle3Dataset.process_data``). Its function for sequence sharding takes ids [1, T] as
well; what it alone takes is not sound.
"""

from eagle3_contracts.subjects.datasets.formats.scheme import BatchAxis, DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide

SPECFORGE = DatasetFormat(
    "specforge",
    "SpecForge 0.1 and 0.2",
    "torch",
    (".ckpt", ".ckpt.gz"),
    SideBySide((("aux_hidden_state", "hidden_state"),)),
    batch_axis=BatchAxis.DROPPED,
)
