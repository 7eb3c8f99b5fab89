"""What the flags of speculative decoding come to in each engine.

SGLang 0.5.9 to 0.5.23, the same in every release: ``server_args.py`` up to 0.5.12, from 0.5.13 on
``arg_groups/speculative_hook.py``. With topk 1 the number of draft tokens is overwritten by steps + 1, with a warning
only. With a larger topk the tree keeps the best of topk + (steps - 1) * topk^2 candidates
(``speculative/eagle_utils.py``, ``organize_draft_results``), and asking for more than that raises at the first draft.
vLLM 0.22 to 0.33: ``config/speculative.py``; a chain of num_speculative_tokens, and the token that the target adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FEEDS_PLANES = {"sglang": ("EAGLE3",), "vllm": ("eagle3",)}
"""The algorithms under which an engine feeds auxiliary planes to the drafter's fc."""

CHAINS = {"sglang": ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE"), "vllm": ("eagle", "eagle3", "draft_model", "mtp")}
"""The algorithms whose number of draft tokens is said here."""

FAMILIAR = {
    "sglang": ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "FROZEN_KV_MTP", "UNO"),
    "vllm": ("eagle", "eagle3", "draft_model", "mtp", "ngram", "ngram_gpu", "suffix", "dflash", "dspark"),
}
CASE_MATTERS_BEFORE = "0.5.12"
"""Before it SGLang compares the algorithm's name as it is written; from it on in capitals."""

DEFAULTS: dict[str, tuple[int, int, int]] = {
    **dict.fromkeys(("LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"), (5, 4, 8)),
}
OTHER_DEFAULT = (3, 1, 4)
"""Steps, topk and draft tokens of SGLang where none of the three is given, by the target's architecture."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """What is asked for; None: not given. ``tokens``: SGLang counts the token that the target adds, vLLM does not."""

    steps: int | None = None
    topk: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What the server does. ``tokens``: verified at once, the target's own among them; None where it stops.

    ``asked``: as many as the flags ask for. ``why``: the rule that made the difference, or why it stops.
    ``unknown``: the command leaves it to something that was not read.
    """

    tokens: int | None
    asked: int | None
    why: str = ""
    outcome: Literal["runs", "stops", "unknown"] = "runs"


def reads_planes(engine: str, algorithm: str) -> bool:
    """Tell whether an engine feeds auxiliary planes to the drafter under an algorithm."""
    return algorithm in FEEDS_PLANES[engine]


def draft_effect(engine: str, drafting: Drafting, architecture: str) -> Effect:
    """Say how many tokens are drafted and verified at once for a chain or tree of EAGLE's kind."""
    for name, value in (("steps", drafting.steps), ("topk", drafting.topk), ("draft tokens", drafting.tokens)):
        if value is not None and value < 1:
            return Effect(None, drafting.tokens, f"{name} {value} is less than 1", "stops")
    return _vllm_effect(drafting) if engine == "vllm" else _sglang_effect(drafting, architecture)


def _sglang_effect(drafting: Drafting, architecture: str) -> Effect:
    steps, topk, tokens = drafting.steps, drafting.topk, drafting.tokens
    if steps is None:
        if topk is not None or tokens is not None:
            return Effect(None, tokens, "without --speculative-num-steps the other two may not be given", "stops")
        steps, topk, tokens = DEFAULTS.get(architecture, OTHER_DEFAULT)
        said = f"steps {steps}, topk {topk} and {tokens} draft tokens are the defaults for {architecture}"
        return Effect(tokens, None, said)
    if topk is None:
        return Effect(None, tokens, "steps are given, but no --speculative-eagle-topk to compare with 1", "stops")
    if topk == 1:
        why = f"with --speculative-eagle-topk 1 it is --speculative-num-steps + 1 = {steps + 1}"
        return Effect(steps + 1, tokens, why if tokens in {None, steps + 1} else f"{why}, whatever is asked for")
    return _tree_effect(steps, topk, tokens)


def _tree_effect(steps: int, topk: int, tokens: int | None) -> Effect:
    """Say what a tree comes to: its candidates are the first topk, and topk of each of topk at every later step."""
    if tokens is None:
        why = f"topk {topk} draws a tree, and no --speculative-num-draft-tokens says its size"
        return Effect(None, None, why, "stops")
    pool = topk + (steps - 1) * topk * topk
    if tokens - 1 > pool:
        why = f"{steps} steps with topk {topk} give {pool} candidates, {tokens} draft tokens take {tokens - 1} of them"
        return Effect(None, tokens, why, "stops")
    return Effect(tokens, tokens, f"the best {tokens - 1} of {pool} candidates, in chains of at most {steps}")


def _vllm_effect(drafting: Drafting) -> Effect:
    if drafting.tokens is None:
        why = "num_speculative_tokens is not given, and the draft's config decides or refuses"
        return Effect(None, None, why, "unknown")
    verified = drafting.tokens + 1
    return Effect(verified, verified, f"num_speculative_tokens {drafting.tokens}, and the one that the target adds")
