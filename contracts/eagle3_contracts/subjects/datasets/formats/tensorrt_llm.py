"""TensorRT-LLM ``SaveHiddenStates``: ``{prefix}_{iteration}.pt``, a list of samples per file.

``hidden_state`` [T, H] is the last slot, after the final norm; ``aux_hidden_states`` [T, k*H] (older versions:
``hidden_state_features``) are the captured slots in ascending order, absent if only the last one was captured. They
end with the last state too in older versions, and when -1 was asked for explicitly
(_torch/speculative/save_hidden_state.py).
"""

from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat
from eagle3_contracts.subjects.datasets.formats.states import SideBySide

TENSORRT_LLM = DatasetFormat(
    "tensorrt-llm",
    "TensorRT-LLM SaveHiddenStates",
    "torch",
    (".pt",),
    SideBySide(
        (("aux_hidden_states", "hidden_state"), ("hidden_state_features", "hidden_state"), (None, "hidden_state")),
        may_repeat_last=True,
    ),
    mask=None,
    listed=True,
)
