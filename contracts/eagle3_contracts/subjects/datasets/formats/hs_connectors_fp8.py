"""hs-connectors 0.9 in FP8: the files of speculators >= 0.5 with 8-bit states (fp8_utils.py).

``hidden_states`` is float8_e4m3fn [T, k+1, H], ``hidden_states_scales`` float32 [T, 1, 1]: one factor per token over
all its planes, the largest |value| / 448. The plain file transfer reads such a file without the factors, in silence.
"""

from eagle3_contracts.subjects.datasets.formats.speculators_arrow import ArrowFormat
from eagle3_contracts.subjects.datasets.formats.states import Stacked

HS_CONNECTORS_FP8 = ArrowFormat(
    "hs-connectors-fp8",
    "hs-connectors 0.9 (FP8)",
    "safetensors",
    (".safetensors",),
    Stacked("hidden_states", "token_ids", scales="hidden_states_scales"),
    tokens="token_ids",
    mask=None,
)
