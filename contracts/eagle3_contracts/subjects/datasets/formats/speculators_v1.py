"""speculators v1: ``data_{i}.pt`` of 0.3 to 0.5 (train/data.py, ``standardize_data_v1``).

``hidden_states`` is a list of planes [T, H]; the trainer feeds all but the last to the drafter and takes the last
one for the verifier's final state, before its norm.
"""

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import Listed

SPECULATORS_V1 = DatasetFormat("speculators-v1", "speculators 0.3 to 0.5", "torch", (".pt",), Listed("hidden_states"))
