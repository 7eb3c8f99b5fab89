"""AngelSlim's dialect: id k is HF's ``hidden_states[k + 1]``, in list order.

So id -1 is the embedding, id n-1 is post-norm, and id -2 is post-norm as well. Read in the wheel of 0.5.0
(compressor/speculative/train/models/target/target_model_wrapper.py, transformers backend).
"""

from __future__ import annotations

from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.rule import reference_layers
from eagle3_contracts.dialects.transformers import TupleIndexRule

ANGELSLIM = Tool(
    name="angelslim",
    purpose="capture",
    read=("0.5.0",),
    takes="the draft's config.json: aux_hidden_states_layer_ids",
    dataset_format="angelslim",
)

DIALECTS = (
    Dialect(
        tool=ANGELSLIM,
        versions=">=0.5,<0.6",
        rule=TupleIndexRule(shift=1, default=reference_layers, exactly=3),
        beside="post_norm",
        source="target_model_wrapper.py: _extract_auxiliary_hidden_states; draft/llama_eagle3.py: fc of 3 planes",
    ),
)
