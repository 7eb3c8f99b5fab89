"""The ``dataset.*`` clauses: hidden states on disk."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

DATASET = (
    Clause(
        "dataset.safe",
        Level.MUST,
        "Every file holds tensors and plain values only, and names nothing outside its folder.",
        "SpecForge 0.1 loads its .ckpt files with weights_only=False; a pickle may run code.",
    ),
    Clause(
        "dataset.readable",
        Level.MUST,
        "Every file can be read to its end.",
        "SpecForge 0.2 prints and substitutes sample 0 for a corrupt file; a crashed dump leaves truncated ones.",
    ),
    Clause(
        "dataset.schema",
        Level.MUST,
        "Every file is of one recognised format and has the keys that format requires.",
        "The key hidden_states means five different things in five tools; NVIDIA/Model-Optimizer PR #1343.",
    ),
    Clause(
        "dataset.declaration",
        Level.MUST,
        "What the files say of themselves is what the contract declares.",
        "verl-SpeCo PR #21, speculators issue #569: one tensor, pre-norm to one tool and post-norm to another; "
        "ModelOpt norms the state if hidden_states_prenorm says so.",
    ),
    Clause(
        "dataset.plane-count",
        Level.MUST,
        "Every sample has one plane for each declared plane.",
        "speculators issue #705: 6 planes against 5, the last one stripped whether final or not.",
    ),
    Clause(
        "dataset.width",
        Level.MUST,
        "Every plane is as wide as the target's hidden size.",
        "sglang PR #24663, verl-SpeCo PR #6: the drafter's hidden size taken for the target's.",
    ),
    Clause(
        "dataset.dtype",
        Level.MUST,
        "The planes have the storage dtype of the contract.",
        "Loaders cast fp16, fp32 and even fp8 without its scales in silence.",
    ),
    Clause(
        "dataset.scales",
        Level.MUST,
        "Quantised states carry their scales.",
        "hs-connectors FP8 files read by the plain file transfer come out off by a factor, another for each row, "
        "without a word.",
    ),
    Clause(
        "dataset.rows",
        Level.MUST,
        "Every plane has one row per token id.",
        "speculators 0.4 to 0.9: a sample one row short shifts every sample packed after it by one.",
    ),
    Clause(
        "dataset.mask-length",
        Level.MUST,
        "The loss mask has one entry per token id.",
        "SpecForge issue #885: mask and tokens out of step by one.",
    ),
    Clause(
        "dataset.mask-values",
        Level.MUST,
        "The loss mask is 0 or 1 and neither all zeros nor all ones over the dataset.",
        "NVIDIA/Model-Optimizer PR #1965, Megatron-Bridge #3359: a template without generation marks.",
    ),
    Clause(
        "dataset.token-ids",
        Level.MUST,
        "Every token id lies in the target's vocabulary.",
        "vLLM issue #34583: ids beyond the embedding read out of bounds.",
    ),
    Clause(
        "dataset.finite",
        Level.MUST,
        "No value is NaN or infinite.",
        "SpecForge issue #104; speculators checks only when it generates, not on the cached path.",
    ),
    Clause(
        "dataset.zero-rows",
        Level.MUST,
        "No row is all zeros.",
        "vLLM PR #46301, speculators issue #613: unwritten cache slots, and training converged all the same.",
    ),
    Clause(
        "dataset.norm-range",
        Level.SHOULD,
        "The median norm of each plane lies in the declared range.",
        "The story's norms, about 1 for the embedding and 37, 174 and 111 for the layers, told the wiring at a glance.",
    ),
    Clause(
        "dataset.distinct",
        Level.MUST,
        "No two planes of a sample are equal.",
        "NVIDIA/Model-Optimizer PR #2149: a duplicate id trains with one layer fed twice.",
    ),
    Clause(
        "dataset.duplicates",
        Level.MUST,
        "No two samples share states; of the same token ids, that is a sample stored twice and a should.",
        "NVIDIA/Model-Optimizer PR #2410: a resumed dump with a stale skip list.",
    ),
    Clause(
        "dataset.embedding-repeats",
        Level.MUST,
        "Rows of the same token id are bit-identical in the plane at boundary 0 and in no other.",
        "R[0] is a function of the token id alone: this convicts an embedding plane without any weights.",
    ),
    Clause(
        "dataset.norm-vector",
        Level.MUST,
        "A final state is normed, or not, as declared: told by the final norm's weight alone.",
        "rms(row / weight) is 1 after the final norm and 10 to 150 before it; speculators PR #313, verl-SpeCo PR #21.",
        needs="norm_vector_rms",
    ),
    Clause(
        "dataset.embedding-rows",
        Level.MUST,
        "The plane at boundary 0 holds the target's embedding of its tokens, and no other plane does.",
        "The story: an embedding plane stored first, and a server that never feeds it.",
        needs="embedding_distance",
    ),
    Clause(
        "dataset.final-state",
        Level.MUST,
        "Logits rebuilt from the final state are the target's.",
        "speculators PR #313, TorchSpec issue #87: an argmax match of 96 % was still the wrong tensor.",
        needs="logits",
    ),
    Clause(
        "dataset.boundary",
        Level.MUST,
        "Every plane is the residual stream at its declared boundary.",
        "speculators <= 0.4 captured 3, n//2+1, n-2 where its export was served with 2, n//2, n-3.",
        needs="states",
    ),
    Clause(
        "dataset.order",
        Level.MUST,
        "The planes lie in the declared order.",
        "Permuted planes pass every shape check of speculators and SpecForge.",
        needs="states",
    ),
    Clause(
        "dataset.token-shift",
        Level.MUST,
        "Row t belongs to token t.",
        "SpecForge 0.1 stores for a loader that shifts, 0.2 for one that does not; SpecForge PR #448.",
        needs="states",
    ),
    Clause(
        "dataset.identity",
        Level.MUST,
        "The states of a sample are those that the target computes from its token ids.",
        "speculators issue #279, sglang issue #8066: states of another request, same length, same shape.",
        needs="states",
    ),
)
