"""The dialect of EAGLE's own code: boundaries 2, n//2, n-3, hard-coded, planes taken on entry of a layer."""

from __future__ import annotations

from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.rule import reference_boundaries
from eagle3_contracts.dialects.unsupported import HardCodedRule, UnsupportedRule

EAGLE = Tool(name="eagle", purpose="train", read=("cb7e084",), takes="nothing: the boundaries are hard-coded")

DIALECTS = (
    Dialect(
        tool=EAGLE,
        versions="",
        architectures=("LlamaForCausalLM", "Qwen3ForCausalLM"),
        rule=HardCodedRule(reference_boundaries, 3, "EAGLE's boundaries are hard-coded, it takes no ids"),
        source="eagle/model/modeling_llama_kv.py:1138, modeling_qwen3_kv.py:582, traineagle3/modeling_llama_kv.py:1139",
    ),
    Dialect(
        tool=EAGLE,
        versions="",
        architectures=("Qwen2ForCausalLM", "MixtralForCausalLM"),
        rule=UnsupportedRule("modeling_qwen2_kv.py and modeling_mixtral_kv.py capture no auxiliary states"),
        source="eagle/model/modeling_qwen2_kv.py, modeling_mixtral_kv.py",
    ),
)
