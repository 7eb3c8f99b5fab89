"""Signs that a drafter was quantised: what config.json says of it, and the tensors that quantisers write.

SGLang 0.5.23 (srt/configs/model_config.py) and vLLM take a drafter's own quantization_config, compression_config or
hf_quant_config.json, and build its layers for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from eagle3_contracts.clauses.checkpoint.judging import Defect
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Where

_TENSORS = re.compile(
    r"(?:^|[._])(?:qweight|qzeros|g_idx|scales|weight_scale(?:_inv|_2)?|input_scale|zero_point|weight_packed|"
    r"weight_shape|weight_zero_point|absmax|quant_map|quant_state\..*)$"
)
"""Names that GPTQ, AWQ, compressed-tensors, ModelOpt, bitsandbytes and block-wise FP8 give to what they add."""
_HINT = "export the drafter as it was trained: the contract declares none that is quantised"


def is_quantiser_tensor(name: str) -> bool:
    """Tell a tensor that a quantiser wrote by its name."""
    return _TENSORS.search(name) is not None


def find_stated_methods(contract: Contract, evidence: CheckpointEvidence) -> Iterator[Defect]:
    """Give each place that says the drafter's weights are quantised."""
    declared = contract.drafter.dtype or contract.target.dtype
    for where, method in evidence.quantisation.items():
        told = f"{where} says that the weights are quantised ({method}), declared {declared}"
        file, _, key = where.partition(": ")
        hint = f"engines build the drafter's layers for {method}; take it out, or {_HINT}"
        yield Defect(told, Where(file=file, flag=key or None), hint)


def group_quantiser_tensors(names: Iterable[str], evidence: CheckpointEvidence) -> Iterator[Defect]:
    """Give one defect for all tensors of a quantiser: they come with every matrix."""
    found = list(names)
    if found:
        count = f"{say_count(len(found), 'tensor')} of quantised weights" if len(found) > 1 else "quantised weights"
        told = f"{found[0]} is read by nothing that the contract declares: {count}"
        yield Defect(told, Where(file=evidence.weights[found[0]].file, tensor=found[0]), _HINT, float(len(found)))
