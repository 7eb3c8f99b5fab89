"""The ``capture.*`` clauses: the code that runs the target and records its hidden states."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

CAPTURE = (
    Clause(
        "capture.runs",
        Level.MUST,
        "The capture code takes token ids and returns token ids and planes for every request.",
        "sglang issue #17935: a wrapper without the capture hook cannot even start.",
    ),
    Clause(
        "capture.plane-count",
        Level.MUST,
        "One plane comes back for each declared plane.",
        "vLLM PR #46788: an id that is never reached leaves a plane out; EAGLE's own ids coincide below 7 layers.",
    ),
    Clause(
        "capture.width",
        Level.MUST,
        "Every plane is as wide as the target's hidden size.",
        "sglang PR #24663: the drafter's width taken for the target's.",
    ),
    Clause(
        "capture.rows",
        Level.MUST,
        "Every plane has one row per token.",
        "sglang issues #8066 and #4997: chunked prefill and the radix cache drop rows in silence.",
    ),
    Clause(
        "capture.token-ids",
        Level.MUST,
        "The token ids that come back are those that were asked for.",
        "NVIDIA/Model-Optimizer PR #300: another chat template in capture than in training.",
    ),
    Clause(
        "capture.dtype",
        Level.MUST,
        "The planes have the storage dtype of the contract.",
        "vLLM issue #55250: a silent cast from bfloat16 to float16 overflowed, and acceptance was 0 %.",
    ),
    Clause(
        "capture.finite",
        Level.MUST,
        "No value is NaN or infinite.",
        "SpecForge issue #104, speculators PRs #615 and #994: NaN in captured states.",
    ),
    Clause(
        "capture.zero-rows",
        Level.MUST,
        "No row is all zeros.",
        "vLLM PR #46301, speculators issue #613: unwritten cache slots gave all-zero states and training converged.",
    ),
    Clause(
        "capture.norm-range",
        Level.SHOULD,
        "The median norm of each plane lies in the declared range.",
        "The story's norms, about 1 for the embedding and 37, 174 and 111 for the layers, told the wiring at a glance.",
    ),
    Clause(
        "capture.boundary",
        Level.MUST,
        "Every plane is the residual stream at its declared boundary.",
        "sglang PR #25454, vLLM PR #42704, TorchSpec issue #87: ids one off, and only the accept length falls.",
        needs="states",
    ),
    Clause(
        "capture.order",
        Level.MUST,
        "The planes come in the declared order.",
        "Engines capture in depth order whatever the list says; trainers concatenate in list order (vLLM PR #50514).",
        needs="states",
    ),
    Clause(
        "capture.residual",
        Level.MUST,
        "Every plane has its residual added.",
        "sglang PR #39286: Gemma 3 captured without the residual, accept length 1.058 instead of 1.891.",
        needs="states",
    ),
    Clause(
        "capture.token-shift",
        Level.MUST,
        "Row t belongs to token t.",
        "SpecForge PR #448: a shift applied twice, accept length 1.66 instead of 1.93; IBM/vLLM-Hook #22: rows of "
        "another chunk.",
        needs="states",
    ),
    Clause(
        "capture.final-state",
        Level.MUST,
        "The final state has the declared norm state: logits rebuilt from it are the target's.",
        "HF hidden_states[n] is post-norm where vLLM's id n is pre-norm: speculators PR #313, verl-SpeCo PR #21.",
        needs="logits",
    ),
    Clause(
        "capture.aliasing",
        Level.MUST,
        "A returned plane keeps its values while later layers and requests run.",
        "sglang PR #39286: Gemma 4 captures shared storage with the next layer's in-place add.",
    ),
    Clause(
        "capture.padded-batch",
        Level.MUST,
        "A request gives the same states in a padded batch as alone.",
        "sglang issues #8066 and #4997: states missing or of another request in large batches.",
    ),
    Clause(
        "capture.request-isolation",
        Level.MUST,
        "A request gives the same states after other requests as before them.",
        "speculators issue #279: keys and values left over between calls.",
    ),
)
