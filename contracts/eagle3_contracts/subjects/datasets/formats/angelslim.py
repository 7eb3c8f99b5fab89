"""AngelSlim: ``*.ckpt`` (compressor/speculative/train/data, ``OfflineEagle3Dataset``).

``hidden_states`` [1, T, 3H] are the auxiliary planes here, ``target_hiddens`` [1, T, H] the last state, which is
HF's ``hidden_states[-1]`` and so after the final norm; token ids and mask have the batch axis too. The collator
(data_utils.py, ``paddingtensor`` and ``paddingtensor2D``) takes nothing without it.
"""

from eagle3_contracts.subjects.datasets.formats.scheme import BatchAxis, DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide

ANGELSLIM = DatasetFormat(
    "angelslim",
    "AngelSlim",
    "torch",
    (".ckpt",),
    SideBySide((("hidden_states", "target_hiddens"),)),
    batch_axis=BatchAxis.NEEDED,
    token_axis=BatchAxis.NEEDED,
)
