"""Faults of the command that starts the server."""

from eagle3_contracts.faults.fault import Fault, Kind
from eagle3_contracts.registry.launch import LAUNCH

_ALL_BUT_READABLE = tuple(clause.id for clause in LAUNCH if clause.id != "launch.readable")

LAUNCH_FAULTS: tuple[Fault, ...] = (
    Fault(
        "launch-quote-left-open",
        Kind.CFG,
        "A quotation mark is opened and never closed, which swallows every flag behind it.",
        "POSIX shell, 2.2 Quoting",
        "launch.readable",
        unchecked=_ALL_BUT_READABLE,
    ),
    Fault(
        "launch-other-engine",
        Kind.CFG,
        "The drafter is promised for one engine and served with another, which reads the same ids otherwise.",
        "sgl-project/sglang PR #25454",
        "launch.engine",
    ),
    Fault(
        "launch-flag-misspelt",
        Kind.CFG,
        "A flag is misspelt: the server refuses it, or a wrapper drops it and the default holds.",
        "sgl-project/sglang issue #12818, atomantic/PortOS PR #4653",
        "launch.flags",
    ),
    Fault(
        "launch-flag-of-later-release",
        Kind.CFG,
        "A flag is used that the oldest served release does not define yet.",
        "areal-project/AReaL PR #428",
        "launch.flags",
    ),
    Fault(
        "launch-eagle-for-eagle3",
        Kind.CFG,
        "The server is told EAGLE for an EAGLE-3 drafter: no planes are captured, and fc is skipped as widths agree.",
        "sgl-project/sglang PR #21272",
        "launch.algorithm",
    ),
    Fault(
        "launch-without-draft",
        Kind.CFG,
        "No draft model is named.",
        "sgl-project/sglang issue #36528, PR #36593",
        "launch.draft-path",
    ),
    Fault(
        "launch-drafts-2-of-16",
        Kind.METRIC,
        "One step with topk 1 and 16 draft tokens: the server rewrites the number to steps + 1.",
        "SGLang 0.5.9 to 0.5.23, arg_groups/speculative_hook.py; the story's first cause",
        "launch.draft-tokens",
    ),
    Fault(
        "launch-drafts-3-of-2",
        Kind.METRIC,
        "Two steps with topk 1 and 2 draft tokens: the number is rewritten upwards, against what was asked for.",
        "SGLang 0.5.9 to 0.5.23, arg_groups/speculative_hook.py",
        "launch.draft-tokens",
    ),
    Fault(
        "launch-tree-beyond-its-candidates",
        Kind.METRIC,
        "One step with topk 4 gives 4 candidates, and 8 draft tokens are asked for.",
        "SGLang 0.5.9 to 0.5.23, speculative/eagle_utils.py: organize_draft_results",
        "launch.draft-tokens",
    ),
    Fault(
        "launch-context-beyond-positions",
        Kind.ROPE,
        "Contexts are served that are longer than the drafter's positions.",
        "sgl-project/sglang issue #6783",
        "launch.context",
    ),
    Fault(
        "launch-rope-overridden",
        Kind.ROPE,
        "A flag overrides the base of the rotary positions in both models' configs, after training.",
        "SGLang 0.5.23, configs/model_config.py: from_server_args",
        "launch.context",
    ),
    Fault(
        "launch-drafter-in-float16",
        Kind.QUANT,
        "A bfloat16 drafter is computed in float16 along with its target.",
        "vllm-project/vllm issue #55250",
        "launch.dtype",
    ),
    Fault(
        "launch-drafter-quantised-along",
        Kind.QUANT,
        "The target is quantised by a flag, and the drafter inherits the method.",
        "sgl-project/sglang PR #28196, vllm-project/vllm PR #25883",
        "launch.quantization",
    ),
    Fault(
        "launch-states-from-cached-prefixes",
        Kind.DATA,
        "Hidden states are returned while the radix cache and chunked prefill are on: rows are missing in silence.",
        "sgl-project/sglang issues #8066 and #4997, IBM/vLLM-Hook issue #22",
        "launch.hidden-states",
    ),
    Fault(
        "launch-ids-read-one-late",
        Kind.LAYER,
        "The draft's config holds boundaries where the engine reads ids of layer outputs.",
        "sgl-project/sglang PR #25454",
        "launch.taps",
    ),
)
