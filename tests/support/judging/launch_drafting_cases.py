"""Commands for the launch clauses of the drafter: the algorithm, the model, and how many tokens it drafts."""

from __future__ import annotations

from support.judging.documents import toy_contract
from support.judging.launch_cases import BEYOND, EAGLE3, LOCAL, SGLANG, SOUND, TOKENS, Case, config, served, vllm
from support.judging.launch_edge_cases import BY_VLLM, LONG, SINGLE, spread, without_fc

ALGORITHM = (
    Case("algorithm", "no fc", "must skipped", SOUND, without_fc()),
    Case("algorithm", "versions beyond those read", "must passed, must errored", SOUND, served(BEYOND)),
    Case("algorithm", "wrong in versions beyond those read", "must failed", SGLANG, served(BEYOND)),
    Case(
        "algorithm",
        "small letters from where they count",
        "must passed",
        SOUND.replace("EAGLE3", "eagle3"),
        served(">=0.5.14,<0.5.24"),
    ),
    Case("algorithm", "another way of drafting", "must failed", SOUND.replace("EAGLE3", "NGRAM")),
    Case("algorithm", "vLLM's single flags", "must passed", spread(SINGLE), BY_VLLM),
    Case(
        "algorithm", "vLLM's method from the environment", "must errored", SINGLE.replace("eagle3", "$METHOD"), BY_VLLM
    ),
    Case(
        "algorithm",
        "vLLM's model from the environment",
        "must errored",
        SINGLE.replace("--spec-method eagle3", "").replace("toy/draft", "$MODEL"),
        BY_VLLM,
    ),
    Case("algorithm", "vLLM, by the draft's name", "must passed", vllm({"model": "yuhuili/EAGLE3-LLaMA"}), BY_VLLM),
    Case(
        "algorithm",
        "vLLM, by the name of an older draft",
        "must failed",
        vllm({"model": "yuhuili/EAGLE-LLaMA"}),
        BY_VLLM,
    ),
    Case("algorithm", "vLLM, a long name that says nothing", "must errored", spread(vllm({"model": LONG})), BY_VLLM),
    Case(
        "algorithm",
        "vLLM, neither method nor model",
        "must failed",
        spread(vllm({"num_speculative_tokens": 3})),
        BY_VLLM,
    ),
    Case("algorithm", "vLLM, no speculation", "must failed", "vllm serve toy/target", BY_VLLM),
)
PATH = (
    Case("draft-path", "vLLM's single flags", "must passed", SINGLE, BY_VLLM),
    Case(
        "draft-path",
        "vLLM's model from the environment",
        "must errored",
        SINGLE.replace("toy/draft", "$MODEL"),
        BY_VLLM,
    ),
    Case("draft-path", "vLLM, none", "must failed", spread(vllm({"method": "eagle3"})), BY_VLLM),
    Case("draft-path", "vLLM, no speculation", "must failed", "vllm serve toy/target", BY_VLLM),
    Case("draft-path", "vLLM, the target", "must failed", vllm(EAGLE3 | {"model": "toy/target"}), BY_VLLM),
    *(
        Case(
            "draft-path",
            f"{place}, where nothing is, and a drafter is checked",
            "should failed",
            SOUND.replace("toy/draft", place),
            drafter="exports/drafter",
        )
        for place in ("./dafter", "/nowhere/dafter", "~/nowhere/dafter")
    ),
    Case("draft-path", "a name of the hub, and a drafter is checked", "must passed", SOUND, drafter="exports/drafter"),
    Case("draft-path", "a folder, and a drafter is checked", "must passed", LOCAL, files=config(), drafter="draft"),
    Case("draft-path", "a folder of another machine", "must passed", SOUND.replace("toy/draft", f"/nowhere/{LONG}")),
    Case(
        "draft-path",
        "a long name of the target's",
        "must failed",
        SOUND.replace("toy/draft", LONG).replace("toy/target", LONG),
    ),
    Case("draft-path", "a long name", "must passed", SOUND.replace("toy/draft", LONG.strip("/"))),
    Case("draft-path", "a config without a class", "must passed", LOCAL, files=config(architectures=None)),
    *(
        Case(
            "draft-path",
            f"a config whose class is {names!r}",
            "must passed",
            LOCAL,
            toy_contract(drafter={"architecture": "A"}),
            config(architectures=names),
        )
        for names in ([], [3], "B")
    ),
    Case(
        "draft-path",
        "a long folder",
        "must passed",
        LOCAL.replace("./draft", "./" + "d" * 90),
        files={"d" * 90: config()["draft"]},
    ),
    Case(
        "draft-path",
        "a long folder of another class",
        "must failed",
        LOCAL.replace("./draft", "./" + "d" * 90),
        toy_contract(drafter={"architecture": "A"}),
        {"d" * 90: config()["draft"]},
    ),
)
WORDS = "three-hundred-and-thirty-three-thousand-and-one"
TOKEN_COUNTS = (
    Case("draft-tokens", "no algorithm", "must errored", spread(f"{SGLANG} {TOKENS}")),
    Case(
        "draft-tokens", "an algorithm that was not looked up", "must errored", spread(SOUND.replace("EAGLE3", "EAGEL3"))
    ),
    Case("draft-tokens", "small letters", "must passed", SOUND.replace("EAGLE3", "eagle3")),
    Case("draft-tokens", "an open algorithm", "must errored", SOUND.replace("EAGLE3", "$ALGORITHM")),
    Case(
        "draft-tokens",
        "words",
        "must errored",
        SOUND.replace("tokens 4", "tokens x").replace("steps 3", f"steps {WORDS}"),
    ),
    Case("draft-tokens", "nothing promised", "must passed", SOUND, toy_contract()),
    Case("draft-tokens", "nothing promised, defaults", "must passed", SOUND.replace(TOKENS, ""), toy_contract()),
    Case(
        "draft-tokens",
        "nothing promised, 2 of 16",
        "must failed",
        SOUND.replace("steps 3", "steps 1").replace("tokens 4", "tokens 16"),
        toy_contract(),
    ),
    Case(
        "draft-tokens",
        "nothing promised, stops",
        "must failed",
        SOUND.replace("--speculative-num-steps 3", ""),
        toy_contract(),
    ),
    Case("draft-tokens", "vLLM's single flags", "must passed", spread(SINGLE), BY_VLLM),
    Case(
        "draft-tokens",
        "vLLM's number from the environment",
        "must errored",
        SINGLE.replace("tokens 3", "tokens $N"),
        BY_VLLM,
    ),
    Case(
        "draft-tokens",
        "vLLM, no number",
        "must errored",
        spread(vllm({"method": "eagle3", "model": "toy/draft"})),
        BY_VLLM,
    ),
    Case("draft-tokens", "vLLM, words", "must errored", vllm(EAGLE3 | {"num_speculative_tokens": WORDS}), BY_VLLM),
    Case("draft-tokens", "vLLM, true", "must errored", vllm(EAGLE3 | {"num_speculative_tokens": True}), BY_VLLM),
)

CASES = (*ALGORITHM, *PATH, *TOKEN_COUNTS)
