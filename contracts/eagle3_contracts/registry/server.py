"""The ``server.*`` clauses: a live server, held to the contract by what it says of itself and by what it answers."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

SERVER = (
    Clause(
        "server.reachable",
        Level.MUST,
        "The server answers every request in time, with JSON that can be read.",
        "sglang issue #17935: a wrapper without the capture hook cannot even start.",
    ),
    Clause(
        "server.target",
        Level.MUST,
        "The target served is the contract's.",
        "SpecForge issue #60, vLLM issue #50158: drafters served with a quantised target, an effect mixed with others.",
    ),
    Clause(
        "server.algorithm",
        Level.MUST,
        "The speculative algorithm in effect feeds the planes to the drafter.",
        "sglang PR #21272: EAGLE for an EAGLE-3 drafter captures no planes, fc is skipped as the widths agree, and the "
        "accept length is 1.00 without a warning.",
    ),
    Clause(
        "server.drafter",
        Level.MUST,
        "The draft model served is the contract's drafter.",
        "SGLang falls back to the target's own path where its checkpoint brings a draft layer along "
        "(arg_groups/speculative_hook.py).",
    ),
    Clause(
        "server.draft-tokens",
        Level.MUST,
        "As many tokens are drafted as were asked for, and as many as the contract wants at least.",
        "SGLang rewrites the number to steps + 1 if topk is 1, with a warning only (arg_groups/speculative_hook.py): "
        "the story's first cause, 2 instead of 16.",
    ),
    Clause(
        "server.context",
        Level.MUST,
        "The context served lies within the positions that the drafter was trained for.",
        "SGLang stretches the drafter's positions in silence if an environment variable allows it "
        "(configs/model_config.py); NVIDIA-NeMo/Automodel PR #2399.",
    ),
    Clause(
        "server.dtype",
        Level.MUST,
        "Target and drafter are computed in the contract's dtypes, or in float32.",
        "vLLM issue #55250: a bfloat16 drafter, cast to the target's float16, overflowed on the first step, and "
        "acceptance was 0 %.",
    ),
    Clause(
        "server.quantization",
        Level.MUST,
        "The target is quantised as the contract says, and the drafter is not quantised along with it.",
        "sglang PR #28196, vLLM PRs #25883 and #26590: the drafter inherits the target's method unless told otherwise.",
    ),
    Clause(
        "server.hidden-states",
        Level.MUST,
        "A server that says it returns hidden states returns a table of them with every answer.",
        "sglang issues #8066 and #4997: answers without states, or with states that are no table, in large batches.",
    ),
    Clause(
        "server.rows",
        Level.MUST,
        "Every answer has one row of hidden states per token of its prompt.",
        "sglang issues #8066 and #4997, IBM/vLLM-Hook #22: states of the last chunk alone, and none for cached tokens.",
    ),
    Clause(
        "server.width",
        Level.MUST,
        "Every row is as wide as the planes that the drafter is fed.",
        "sglang PR #21272: without captured planes one plane comes back, and widths may agree all the same.",
    ),
    Clause(
        "server.finite",
        Level.MUST,
        "No value of a returned row is NaN or infinite.",
        "vLLM issue #55250: values beyond 65,504 in float16; SpecForge issue #104.",
    ),
    Clause(
        "server.zero-rows",
        Level.MUST,
        "No returned row is all zeros.",
        "vLLM PR #46301: unwritten slots gave all-zero states and everything went on.",
    ),
    Clause(
        "server.boundary",
        Level.MUST,
        "Every plane that the drafter is fed is the residual stream at its declared boundary.",
        "sglang PR #25454, vLLM PR #42704: ids one off, HTTP 200, and only the accept length falls; the story's second "
        "cause.",
    ),
    Clause(
        "server.order",
        Level.MUST,
        "The planes are concatenated in the declared order.",
        "Engines capture in order of depth whatever the list says (vLLM PR #50514); the drafter's fc knows one order.",
    ),
    Clause(
        "server.token-shift",
        Level.MUST,
        "Row t of an answer is the state of token t of its own prompt.",
        "IBM/vLLM-Hook #22: rows of another chunk; sglang issue #8066: rows of another request.",
    ),
    Clause(
        "server.final-state",
        Level.MUST,
        "The final state has the norm state that the engine gives it: logits rebuilt from it are the target's.",
        "SGLang's plain hidden states are post-norm where its captured boundary n is pre-norm (verl-SpeCo PR #21).",
    ),
    Clause(
        "server.own-request",
        Level.MUST,
        "Every answer belongs to the request that it was given for.",
        "sglang issues #8066 and #4997: states of another request in large batches.",
    ),
    Clause(
        "server.logprobs",
        Level.MUST,
        "The log-probabilities served are the reference target's, within the tolerance of the dtype served.",
        "TorchSpec issue #87: 96 % of the choices agreed, and the tensor was another one.",
    ),
    Clause(
        "server.greedy-text",
        Level.MUST,
        "Greedy text is the target's own, with speculation as without, wherever the target's choice is clear.",
        "TensorRT-LLM issues #16377, #8615 and #10612, sglang PR #14063: stray tokens, with a drafter only.",
    ),
    Clause(
        "server.counters",
        Level.MUST,
        "Rounds, histogram, accept length and the tokens given agree with one another.",
        "vLLM issue #56101 and PR #17908, sglang PR #13212: overcounts past the end, and lengths with and without the "
        "target's own token.",
    ),
    Clause(
        "server.accepted-tokens",
        Level.MUST,
        "As many drafted tokens are accepted as the drafter's simulation says: exactly in float32, nearly in less.",
        "vLLM issues #26191 and #40551, sglang PR #22836: acceptance falls with graphs and releases, and no error.",
    ),
    Clause(
        "server.acceptance-shape",
        Level.SHOULD,
        "Acceptance has the shape of a sound drafter: at the first position, from position to position, and along the "
        "text.",
        "ROCm/ATOM PR #1764: a state handed on without its norm costs the later positions only; SpecForge issue #265: "
        "a wrong rotary base costs more the longer the text is.",
    ),
    Clause(
        "server.batch",
        Level.MUST,
        "A request is answered the same in a batch as alone.",
        "TensorRT-LLM issues #9208, #10343 and #5791: acceptance that falls with the batch.",
    ),
    Clause(
        "server.repeats",
        Level.MUST,
        "A request is answered the same twice in a row.",
        "speculators issue #279, vLLM issue #14649: keys and values left over from a call before.",
    ),
)
