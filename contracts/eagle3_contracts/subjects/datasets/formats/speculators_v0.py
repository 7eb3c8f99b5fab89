"""speculators v0: ``*.pt`` anywhere under the folder, read by 0.3.0 only (train/data.py, ``standardize_data_v0``).

``hidden_state`` [T, 3H] are the auxiliary planes here, ``target`` [T, H] the last state.
"""

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide

SPECULATORS_V0 = DatasetFormat(
    "speculators-v0", "speculators 0.3.0", "torch", (".pt",), SideBySide((("hidden_state", "target"),))
)
