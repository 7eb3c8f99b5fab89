"""Commands for the launch clauses that cannot be read, leave something open, or hold several things at once."""

from __future__ import annotations

from typing import Any

from support.judging.documents import toy_contract
from support.judging.launch_cases import BROKEN, EAGLE3, LATE, SGLANG, SOUND, STATES, VLLM, Case, served, vllm

BY_VLLM = served(VLLM, "vllm")
BY_BOTH = toy_contract(serving={"engines": {"sglang": LATE, "vllm": VLLM}})
SINGLE = "vllm serve toy/target --spec-method eagle3 --spec-model toy/draft --spec-tokens 3 --max-model-len 2048"
LONG = "a-very-long-name/" * 6


def spread(text: str) -> str:
    """Write a command over as many lines as it has flags, behind a comment."""
    return "# serve\n" + text.replace(" --", " \\\n  --")


def without_fc() -> Any:
    """Give the toy contract of a drafter without fc, served by SGLang."""
    return toy_contract(
        serving={"engines": {"sglang": LATE}}, drafter={"fc": {"present": False}, "input": ["low"], "hidden_size": 8}
    )


JUDGED = (
    "flags",
    "algorithm",
    "draft-path",
    "draft-tokens",
    "context",
    "dtype",
    "quantization",
    "hidden-states",
    "taps",
)
DRAFTS = ("algorithm", "draft-path", "draft-tokens", "context", "taps")
UNREAD = (
    *(Case(name, "a quote that stays open", "must errored", BROKEN) for name in JUDGED),
    *(
        Case(name, "a server of states", "must skipped", f"{STATES} --context-length 9")
        for name in DRAFTS
        if name != "algorithm"
    ),
    *(
        Case(name, "spread over lines", "must failed", spread(text), files=files)
        for name, text, files in (
            ("flags", f"{SOUND} --frobnicate 1", {}),
            ("algorithm", SOUND.replace("EAGLE3", "EAGLE"), {}),
            ("draft-path", SOUND.replace("toy/draft", "toy/target"), {}),
            ("draft-tokens", SOUND.replace("steps 3", "steps 1"), {}),
            ("context", SOUND.replace("2048", "4096"), {}),
            ("dtype", f"{SOUND} --dtype half", {}),
            ("quantization", f"{SOUND} --speculative-draft-model-quantization fp8", {}),
            ("hidden-states", f"{STATES} --disable-radix-cache --tp 2", {}),
        )
    ),
    *(
        Case(name, "an open value, spread over lines", "must errored", spread(text))
        for name, text in (
            ("flags", f"{SOUND} $A $B"),
            ("algorithm", f"{SGLANG} --speculative-algorithm $A$B --tp 2"),
            ("draft-path", f"{SOUND} $EXTRA"),
            ("draft-tokens", f"{SOUND} --speculative-adaptive --tp 2"),
            ("context", SOUND.replace("2048", "many")),
            ("dtype", f"{SOUND} --dtype $A$B"),
            ("quantization", f"{SOUND} --speculative-draft-model-quantization $A"),
            ("hidden-states", f"{STATES} --disable-radix-cache $EXTRA"),
            ("taps", SOUND.replace("toy/draft", "$A$B")),
        )
    ),
)
COMMAND = (
    Case(
        "readable",
        "two variables at their defaults",
        "must passed",
        "N=${N:-3}\nM=${M:-4}\n" + SOUND.replace("steps 3", "steps $N").replace("tokens 4", "tokens $M"),
    ),
    Case("engine", "one of two", "must passed", SOUND, BY_BOTH),
    Case("flags", "two variables that may hold any", "must errored", f"{SOUND} $ONE $OTHER"),
    Case(
        "flags",
        "a retired one, read before an unknown one",
        "should failed, must failed",
        f"{SOUND} --frobnicate --disable-cuda-graph",
        served(">=0.5.22,<0.5.24"),
    ),
    Case(
        "flags",
        "a retired one, read behind an unknown one",
        "must failed, should failed",
        f"{SOUND} --disable-cuda-graph --frobnicate",
        served(">=0.5.22,<0.5.24"),
    ),
    Case(
        "flags",
        "a dozen and more unknown ones",
        ", ".join(["must failed"] * 12),
        SOUND + "".join(f" --frobnicate-{letter}" for letter in "abcdefghijklmn"),
    ),
    Case(
        "flags",
        "five words that stand alone, one of them long",
        "must failed",
        f"{SOUND} --disable-radix-cache {'yes' * 14} b c d e",
    ),
    Case(
        "flags",
        "several times",
        "should failed, should failed",
        spread(f"{SOUND} --tp 2 --page-size 1 --tp 4 --page-size 16 --tp 8"),
    ),
    Case("flags", "lists that repeat", "must passed", f"{SOUND} --lora-paths a b --lora-paths c"),
    Case(
        "flags", "lists given twice", "must failed, should failed", f"{SOUND} --cuda-graph-bs 1 2 --cuda-graph-bs 4 8"
    ),
    Case("flags", "one release", "must failed", f"{SOUND} --frobnicate", served("==0.5.20")),
    Case("flags", "no release that was read", "must errored", SOUND, served(">=0.6,<0.7")),
    Case(
        "flags",
        "of later releases, in one",
        "must failed",
        f"{SOUND} --speculative-use-block-verification",
        served("==0.5.20"),
    ),
    Case(
        "flags",
        "vLLM's keys twice",
        "must passed",
        vllm(EAGLE3, "--max-model-len 2048 --speculative-config.num_speculative_tokens 4"),
        BY_VLLM,
    ),
)

CASES = (*UNREAD, *COMMAND)
