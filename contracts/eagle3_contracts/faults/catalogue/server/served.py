"""Faults of what is served: models, settings, planes."""

from eagle3_contracts.faults.catalogue.server.making import ACCEPTED, PLACES, SHAPE, UNDECIDED, fault
from eagle3_contracts.faults.fault import Fault, Kind

_IDENTITY = (
    fault(
        "other-target",
        Kind.CONTENT,
        "target",
        "Another model is served, under another name.",
        "same kind: sgl-project/SpecForge issue #60, a drafter served on a target of another precision",
        beside=("server.boundary", "server.logprobs", "server.greedy-text", SHAPE),
        unchecked=(*UNDECIDED, ACCEPTED),
    ),
    fault(
        "other-weights",
        Kind.WEIGHTS,
        "logprobs",
        "Other weights are served under the target's name and config.",
        "vllm-project/vllm issue #50158",
        beside=("server.boundary", "server.greedy-text", SHAPE),
        unchecked=(*UNDECIDED, ACCEPTED),
    ),
    fault(
        "target-as-draft",
        Kind.CFG,
        "drafter",
        "The target's own path is served as the draft.",
        "sgl-project/sglang issue #36528, PR #36593",
    ),
    fault(
        "without-draft",
        Kind.CFG,
        "algorithm",
        "The server was started without the drafter, and answers like any other.",
        "SGLang 0.5.20 to 0.5.23, server_args.py: speculative_algorithm is optional",
    ),
    fault(
        "captures-only",
        Kind.CFG,
        "algorithm",
        "EAGLE3 is set for its auxiliary states alone, and nothing is drafted.",
        "SGLang 0.5.23, arg_groups: --enable-return-aux-hidden-states",
    ),
    fault(
        "eagle-for-eagle3",
        Kind.CFG,
        "algorithm",
        "EAGLE serves an EAGLE-3 drafter: one plane is captured, and nothing is accepted.",
        "sgl-project/sglang PR #21272",
        beside=("server.width", SHAPE),
        unchecked=PLACES,
    ),
)
_SETTINGS = (
    fault(
        "drafts-2-of-16",
        Kind.METRIC,
        "draft-tokens",
        "One step with topk 1 and 16 draft tokens: the server has rewritten the number to steps + 1.",
        "SGLang 0.5.9 to 0.5.23, arg_groups/speculative_hook.py; the story's first cause",
    ),
    fault(
        "context-beyond-positions",
        Kind.ROPE,
        "context",
        "Contexts are served that are longer than the drafter's positions.",
        "sgl-project/sglang issue #6783",
    ),
    fault(
        "arguments-of-other-types",
        Kind.CFG,
        "reachable",
        "The server's own arguments hold text where numbers and truth values should stand.",
        "RFC 8259, 3: values have types",
    ),
    fault(
        "drafter-in-float16",
        Kind.QUANT,
        "dtype",
        "A bfloat16 drafter is computed in float16 along with its target.",
        "vllm-project/vllm issue #55250",
    ),
    fault(
        "quantised",
        Kind.QUANT,
        "quantization",
        "The target is quantised by a flag, and states and choices are those of another target.",
        "sgl-project/sglang PR #28196, vllm-project/vllm PR #25883",
    ),
    fault(
        "radix-cache",
        Kind.DATA,
        "rows",
        "Tokens whose prefix is cached have no rows.",
        "sgl-project/sglang issues #8066 and #4997",
    ),
    fault(
        "chunked-prefill",
        Kind.DATA,
        "rows",
        "Of a prompt longer than a chunk the last chunk's rows alone come.",
        "IBM/vLLM-Hook issue #22",
    ),
)
_PLANES = (
    fault(
        "planes-swapped",
        Kind.LAYER,
        "order",
        "The first two planes are concatenated in each other's place.",
        "vllm-project/vllm PR #50514",
        beside=(ACCEPTED,),
    ),
    fault(
        "ids-one-late",
        Kind.LAYER,
        "boundary",
        "Ids that count boundaries are read as ids of layer outputs.",
        "sgl-project/sglang PR #25454",
        beside=(ACCEPTED,),
    ),
    fault(
        "ids-one-early",
        Kind.LAYER,
        "boundary",
        "Ids of layer outputs are read as boundaries.",
        "vllm-project/vllm PR #42704",
        beside=(ACCEPTED,),
    ),
    fault(
        "embedding-first",
        Kind.LAYER,
        "boundary",
        "The embedding stands first and every other plane has moved up: the story, from the other side.",
        "same kind: NickL77/BaldEagle issue #18, index 0 of the states is the embedding",
        beside=(ACCEPTED,),
    ),
)

SERVED_FAULTS: tuple[Fault, ...] = (*_IDENTITY, *_SETTINGS, *_PLANES)
