"""What engines make of a drafter's parts, by version: the parts that some versions ignore or cannot run.

Read in the wheels: sglang 0.5.9 to 0.5.23 (srt/models/llama_eagle3.py, kimi_k25_eagle3.py, speculative/
eagle_worker_v2.py, models/llama.py) and vllm 0.22.0 to 0.33.0 (model_executor/models/llama_eagle3.py,
qwen3_eagle3.py, deepseek_eagle3.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eagle3_contracts.contract import Contract

NEVER = ""
"""No version that was read."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A part of a drafter that not every version of an engine honours.

    ``asked``: tells whether a contract has that part. ``honoured``: the range of versions that honour it,
    ``NEVER`` for none. ``otherwise``: what the others do.
    """

    name: str
    asked: Callable[[Contract], bool]
    honoured: str
    otherwise: str


def _same_width(contract: Contract) -> bool:
    return contract.drafter.hidden_size == contract.target.hidden_size


def _gqa(contract: Contract, attribute: str) -> bool:
    return bool(getattr(contract.drafter.attention, attribute, False))


_COMMON = (
    Feature(
        "hidden_norm chained",
        lambda contract: contract.drafter.hidden_norm == "chained",
        NEVER,
        "the state passes hidden_norm alone",
    ),
    Feature(
        "no norm on the embedding",
        lambda contract: not contract.drafter.embedding_norm,
        NEVER,
        "input_layernorm is applied",
    ),
    Feature(
        "no norm before lm_head",
        lambda contract: not contract.drafter.head_norm,
        NEVER,
        "the drafter's norm is applied",
    ),
    Feature(
        "d2t of absolute ids",
        lambda contract: contract.drafter.d2t == "absolute",
        NEVER,
        "d2t is added to the draft id",
    ),
)

_SGLANG_CLASSES = ("LlamaForCausalLMEagle3", "Eagle3DeepseekV2ForCausalLM")

FEATURES: dict[str, tuple[Feature, ...]] = {
    "sglang": (
        *_COMMON,
        Feature(
            "a model class of the drafter's name",
            lambda contract: contract.drafter.architecture not in {None, *_SGLANG_CLASSES},
            NEVER,
            f"there are {' and '.join(_SGLANG_CLASSES)}",
        ),
        Feature(
            "residual after hidden_norm (norm_before_residual)",
            lambda contract: contract.drafter.residual == "post_norm",
            NEVER,
            "the state before hidden_norm is added back, in silence",
        ),
        Feature(
            "one norm over all planes (norm_before_fc)",
            lambda contract: contract.drafter.fc.input_norm == "joint",
            ">=0.5.17",
            "input_norm.weight is dropped in silence",
        ),
        Feature(
            "a norm per plane (fc_norm)",
            lambda contract: contract.drafter.fc.input_norm == "per_plane",
            ">=0.5.12",
            "fc_norm.*.weight are dropped in silence",
        ),
        Feature(
            "the next step gets the normed state (norm_output)",
            lambda contract: contract.drafter.recurrent == "post_norm",
            ">=0.5.12",
            "it gets the state before the norm, in silence",
        ),
        Feature(
            "its own embedding at the target's width",
            lambda contract: contract.drafter.embedding == "own" and _same_width(contract),
            NEVER,
            "the target's embedding replaces it, in silence",
        ),
        Feature(
            "an fc from planes that together have the drafter's width",
            lambda contract: (
                contract.drafter.fc.present
                and len(contract.drafter.input) * contract.target.hidden_size == contract.drafter.hidden_size
            ),
            NEVER,
            "fc is skipped in silence, since the widths agree",
        ),
        Feature(
            "norms on queries and keys",
            lambda contract: _gqa(contract, "qk_norm"),
            NEVER,
            "the Llama drafter has none, and their weights are dropped in silence",
        ),
        Feature(
            "a bias on queries, keys and values",
            lambda contract: contract.drafter.attention.kind == "gqa" and contract.drafter.attention.bias,
            NEVER,
            "the drafter's qkv_proj has none, and the weights are dropped in silence",
        ),
        Feature(
            "MLA attention",
            lambda contract: contract.drafter.attention.kind == "mla",
            ">=0.5.12",
            "there is no model class for it",
        ),
    ),
    "vllm": (
        *_COMMON,
        Feature(
            "a bias in fc",
            lambda contract: contract.drafter.fc.bias,
            NEVER,
            "fc.bias is an unexpected tensor (ValueError)",
        ),
        Feature(
            "norms on queries and keys",
            lambda contract: _gqa(contract, "qk_norm") and contract.drafter.architecture != "Eagle3Qwen3ForCausalLM",
            NEVER,
            "only Eagle3Qwen3ForCausalLM has them",
        ),
    ),
}
"""By engine; an engine that is not here was not read."""
