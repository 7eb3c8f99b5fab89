"""Faults of hidden states on disk whose rows are not those of their tokens, or not what was captured."""

from eagle3_contracts.faults.fault import Fault, Kind


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"dataset.{name}" for name in names)


DATASET_ROW_FAULTS: tuple[Fault, ...] = (
    Fault(
        "dataset-batch-dimension",
        Kind.DATA,
        "Planes carry a batch dimension that their loader does not squeeze.",
        "Tencent/AngelSlim PR #142",
        "dataset.readable",
    ),
    Fault(
        "dataset-last-chunk-alone",
        Kind.DATA,
        "Prefill ran in chunks, and the states of the last chunk alone were kept.",
        "IBM/vLLM-Hook issue #22, PR #14",
        "dataset.rows",
        companions=_of("final-state", "identity"),
        unchecked=_of("embedding-repeats", "boundary", "order", "token-shift"),
    ),
    Fault(
        "dataset-chunk-edge-twice",
        Kind.DATA,
        "Prefill ran in chunks, and the row at each edge is stored in both.",
        "IBM/vLLM-Hook PR #14, vllm-project/vllm PR #14922",
        "dataset.rows",
        companions=_of("final-state", "boundary", "identity"),
        unchecked=_of("order", "token-shift"),
    ),
    Fault(
        "dataset-plane-of-zeros",
        Kind.DATA,
        "One plane was never written: its slots lie in a group with another block size.",
        "vllm-project/vllm PR #46301, vllm-project/speculators issue #613",
        "dataset.zero-rows",
        companions=_of("norm-range", "boundary"),
        unchecked=_of("embedding-repeats", "order", "token-shift"),
    ),
    Fault(
        "dataset-overflow",
        Kind.QUANT,
        "A cast through a narrower dtype has overflowed: the largest values of some rows are infinite.",
        "vllm-project/vllm issue #55250",
        "dataset.finite",
    ),
    Fault(
        "dataset-rows-mixed",
        Kind.PAR,
        "Rows of two requests of one batch were gathered over the wrong group, and every other one is the other's.",
        "sgl-project/sglang PR #20492",
        "dataset.token-shift",
    ),
    Fault(
        "dataset-tail-of-another",
        Kind.DATA,
        "The tail of one sample is that of the request before: offsets without the request's identity.",
        "vllm-project/speculators issue #279",
        "dataset.identity",
    ),
    Fault(
        "dataset-thinking-stripped",
        Kind.ALIGN,
        "States were captured with the span that the chat template of training strips.",
        "NVIDIA/Model-Optimizer PR #300, sgl-project/SpecForge issue #296",
        "dataset.identity",
        companions=_of("final-state", "boundary"),
        unchecked=_of("order", "token-shift"),
    ),
    Fault(
        "dataset-quantisation-noise",
        Kind.QUANT,
        "States were captured from a quantised target, and the contract names it unquantised.",
        "vllm-project/vllm issue #50158, sgl-project/SpecForge issue #60",
        "dataset.boundary",
        companions=_of("final-state"),
    ),
    Fault(
        "dataset-last-state-disturbed",
        Kind.QUANT,
        "The last state was captured over a quantised cache: nearly all argmaxes are right, and the logits are not.",
        "vllm-project/vllm issue #41789",
        "dataset.final-state",
        unchecked=_of("boundary", "order"),
    ),
)
