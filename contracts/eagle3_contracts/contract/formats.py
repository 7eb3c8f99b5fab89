"""The dataset formats that ``storage`` may speak of, and what each tool writes into its own.

The ids are those that the dataset readers give (``DatasetEvidence.format``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DatasetFormat = Literal[
    "speculators-v0",
    "speculators-v1",
    "speculators-arrow",
    "hs-connectors-fp8",
    "specforge",
    "modelopt",
    "tensorrt-llm",
    "angelslim",
    "torchspec",
    "vllm-connector",
]

Dtype = Literal["float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"]


@dataclass(frozen=True, slots=True)
class FormatHabit:
    """What a format's own tool writes, whatever it is asked for.

    ``final_state``: how it stores boundary n, None where that depends on a flag or a backend. ``ascending``:
    it sorts the boundaries, so no other order can be captured. ``dtype``: of the stored states, None for
    the target's. ``source``: where that was read.
    """

    final_state: Literal["pre_norm", "post_norm"] | None
    source: str
    ascending: bool = True
    dtype: Dtype | None = None


_VLLM_SORTS = "vLLM captures the sorted set of ids and id n before the final norm (gpu_model_runner.py, 0.33)"

HABITS: dict[DatasetFormat, FormatHabit] = {
    "speculators-v0": FormatHabit("pre_norm", "speculators 0.3.0, custom_worker.py: a frozenset of ids"),
    "speculators-v1": FormatHabit("pre_norm", "speculators 0.3 to 0.5, custom_worker.py: a frozenset of ids"),
    "speculators-arrow": FormatHabit("pre_norm", _VLLM_SORTS),
    "hs-connectors-fp8": FormatHabit("pre_norm", _VLLM_SORTS, dtype="float8_e4m3fn"),
    "specforge": FormatHabit("post_norm", "SpecForge 0.2.0, offline_capture/sglang_backend/utils.py"),
    "modelopt": FormatHabit(None, "ModelOpt 0.47: post-norm unless hidden_states_prenorm says otherwise"),
    "tensorrt-llm": FormatHabit("post_norm", "TensorRT-LLM, _torch/speculative/eagle3.py: id -1 is post-norm"),
    "angelslim": FormatHabit("post_norm", "AngelSlim, target_model_wrapper.py: HF hidden_states[-1]", ascending=False),
    "torchspec": FormatHabit(None, "TorchSpec: post-norm from HF and SGLang, pre-norm from vLLM", ascending=False),
    "vllm-connector": FormatHabit("pre_norm", _VLLM_SORTS),
}
"""By format; the files named were read in those versions."""
