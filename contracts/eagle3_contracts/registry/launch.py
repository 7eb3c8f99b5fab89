"""The ``launch.*`` clauses: the command line that starts the server."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

LAUNCH = (
    Clause(
        "launch.readable",
        Level.MUST,
        "One command that starts a server can be read to its end.",
        "A quote that is never closed swallows the flags behind it; two servers in one script are two contracts.",
    ),
    Clause(
        "launch.engine",
        Level.MUST,
        "The engine that is started is one that the contract serves.",
        "The same flags and the same config mean other layers from one engine to the next: sglang PR #25454.",
    ),
    Clause(
        "launch.flags",
        Level.MUST,
        "Every flag is one that each served version defines, and takes effect.",
        "argparse refuses an unknown flag but takes the beginning of a name for the name; SGLang keeps flags that do "
        "nothing any more (arg_groups/argparse_actions.py).",
    ),
    Clause(
        "launch.algorithm",
        Level.MUST,
        "The speculative algorithm is the one that feeds the planes to the drafter.",
        "sglang PR #21272: EAGLE for an EAGLE-3 drafter captures no planes, fc is skipped as the widths agree, and the "
        "accept length is 1.00 without a warning.",
    ),
    Clause(
        "launch.draft-path",
        Level.MUST,
        "A draft model is named, and it is the drafter and not the target.",
        "SGLang falls back to the target's own path where its checkpoint brings a draft layer along "
        "(arg_groups/speculative_hook.py).",
    ),
    Clause(
        "launch.draft-tokens",
        Level.MUST,
        "The server drafts as many tokens as the flags ask for, and as many as the contract wants at least.",
        "SGLang rewrites the number to steps + 1 if topk is 1, with a warning only (arg_groups/speculative_hook.py): "
        "the story's first cause, 2 instead of 16.",
    ),
    Clause(
        "launch.context",
        Level.MUST,
        "The context served lies within the positions that the drafter was trained for.",
        "SGLang refuses a longer one, or stretches the drafter's positions in silence if an environment variable "
        "allows it (configs/model_config.py); NVIDIA-NeMo/Automodel PR #2399.",
    ),
    Clause(
        "launch.dtype",
        Level.MUST,
        "Target and drafter are computed in the contract's dtypes.",
        "vLLM issue #55250: a bfloat16 drafter, cast to the target's float16, overflowed on the first step, and "
        "acceptance was 0 %.",
    ),
    Clause(
        "launch.quantization",
        Level.MUST,
        "The target is quantised as the contract says, and the drafter is not quantised along with it.",
        "sglang PR #28196, vLLM PRs #25883 and #26590: the drafter inherits the target's method unless told otherwise.",
    ),
    Clause(
        "launch.hidden-states",
        Level.MUST,
        "Where the server returns hidden states, no prompt is cut into chunks and no prefix comes from the cache.",
        "sglang issues #8066 and #4997, IBM/vLLM-Hook #22: states of the last chunk alone, and none for cached tokens.",
    ),
    Clause(
        "launch.taps",
        Level.MUST,
        "The ids in the draft's config tap the contract's planes in every served version.",
        "sglang issue #37475: without ids, or with ids where the engine does not read them, its default is tapped in "
        "silence.",
    ),
)
