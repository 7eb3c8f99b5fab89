"""Faults of exported checkpoints whose parts do not belong together."""

from eagle3_contracts.faults.fault import Fault, Kind


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"checkpoint.{name}" for name in names)


_OF_D2T = _of("d2t-reading", "d2t-ids", "draft-vocabulary", "t2d-agrees", "special-tokens", "dead-tensors")
"""What nothing can be said of without d2t."""

CHECKPOINT_PART_FAULTS: tuple[Fault, ...] = (
    Fault(
        "checkpoint-ids-absent",
        Kind.LAYER,
        "No ids are exported, so that every engine takes its default, of another number of planes.",
        "sgl-project/sglang issue #37475, lightseekorg/tokenspeed PR #526",
        "checkpoint.taps",
        companions=_of("fc-width"),
    ),
    Fault(
        "checkpoint-ids-empty",
        Kind.LAYER,
        "The list of ids is there and empty, which is not the same as none: nothing is captured.",
        "lightseekorg/tokenspeed PR #526",
        "checkpoint.taps",
    ),
    Fault(
        "checkpoint-ids-contradictory",
        Kind.LAYER,
        "Two places of one config state other planes, and each engine looks at one of them.",
        "ggml-org/llama.cpp PR #27040, vllm-project/speculators issue #569",
        "checkpoint.taps",
    ),
    Fault(
        "checkpoint-ids-twice",
        Kind.LAYER,
        "One id is listed twice: engines capture each layer once, and fc is fed a plane too few.",
        "NVIDIA/Model-Optimizer PR #2149",
        "checkpoint.taps",
    ),
    Fault(
        "checkpoint-ids-negative",
        Kind.LAYER,
        "An id is counted from the end, as Python counts, where engines count from the start alone.",
        "NVIDIA/Model-Optimizer PR #2149",
        "checkpoint.taps",
    ),
    Fault(
        "checkpoint-ids-of-a-deeper-target",
        Kind.LAYER,
        "The drafter was trained for a target with more layers, which its ids reach for.",
        "vllm-project/vllm PR #48113",
        "checkpoint.taps",
        companions=_of("fc-applied"),
    ),
    Fault(
        "checkpoint-d2t-missing",
        Kind.VOCAB,
        "The maps between the vocabularies were kept in a side file and are not in the checkpoint.",
        "NVIDIA-NeMo/Automodel PRs #2447 and #2374",
        "checkpoint.tensors-present",
        companions=_of("engine-tensors"),
        unchecked=_OF_D2T,
    ),
    Fault(
        "checkpoint-d2t-numbered",
        Kind.VOCAB,
        "d2t was initialised to 0, 1, 2, ... and never filled: engines double every id.",
        "verl-project/verl-SpeCo PR #67",
        "checkpoint.d2t-reading",
        companions=_of("d2t-ids", "t2d-agrees", "special-tokens"),
    ),
    Fault(
        "checkpoint-first-ids",
        Kind.VOCAB,
        "Both maps agree on the first ids of the target's vocabulary, which nobody chose.",
        "NVIDIA-NeMo/Automodel PR #2447",
        "checkpoint.draft-vocabulary",
    ),
    Fault(
        "checkpoint-t2d-too-few",
        Kind.VOCAB,
        "t2d marks fewer ids than the draft vocabulary has: the corpus had too few distinct tokens.",
        "SafeAILab/EAGLE issue #222",
        "checkpoint.t2d-agrees",
    ),
    Fault(
        "checkpoint-overflow",
        Kind.QUANT,
        "A cast through a narrower dtype has overflowed: a weight is infinite.",
        "vllm-project/vllm issue #55250",
        "checkpoint.finite",
        unchecked=_of("dead-tensors"),
    ),
    Fault(
        "checkpoint-quantised",
        Kind.QUANT,
        "The drafter was quantised to float8 on export; engines build its layers for that, and fc reads no scales.",
        "vllm-project/vllm PR #28435",
        "checkpoint.dtypes",
        companions=_of("tensors-read"),
    ),
    Fault(
        "checkpoint-quantised-unsaid",
        Kind.QUANT,
        "The drafter was quantised to int8 beside its scales, and its config does not say so.",
        "NVIDIA/Model-Optimizer PR #2027",
        "checkpoint.dtypes",
        companions=_of("tensors-read", "engine-tensors"),
        unchecked=_of("dead-tensors"),
    ),
    Fault(
        "checkpoint-halves-swapped",
        Kind.CONTENT,
        "The layer reads the hidden state in front of the embedding, and engines put the embedding in front.",
        "SGLang 0.5.23, srt/models/llama_eagle3.py, forward of the decoder layer",
        "checkpoint.drafted-tokens",
    ),
    Fault(
        "checkpoint-planes-of-fc-reversed",
        Kind.LAYER,
        "fc was trained on the planes in another order, and no id list says so: engines sort by depth.",
        "vllm-project/vllm PR #50514",
        "checkpoint.drafted-tokens",
    ),
    Fault(
        "checkpoint-head-shards-swapped",
        Kind.PAR,
        "The shards of lm_head were gathered in another order than the vocabulary's.",
        "NVIDIA-NeMo/Automodel PRs #2823 and #2829",
        "checkpoint.drafted-tokens",
    ),
)
