"""The ``golden.*`` clauses: a recording of target and drafter that others are held against."""

from __future__ import annotations

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

GOLDEN = (
    Clause(
        "golden.readable",
        Level.MUST,
        "The recording is there, and its manifest and tensor files can be read.",
        "A golden test that makes its file on the first run, or skips without one, compares with nothing: "
        "pytest-regressions and syrupy tell the two apart.",
    ),
    Clause(
        "golden.integrity",
        Level.MUST,
        "Every listed file is there with its sha256, and no other file lies beside them.",
        "A recording that was edited, half copied or mixed with another one agrees with whatever was put in.",
    ),
    Clause(
        "golden.contract",
        Level.MUST,
        "It was recorded for this version of the contract, and from this target's weights.",
        "vllm-project/speculators PRs #903 and #1081: files of another target are used again because they exist; "
        "nothing in a tensor tells.",
    ),
    Clause(
        "golden.versions",
        Level.SHOULD,
        "The tools that recorded it are those that are installed.",
        "vLLM issues #26191, #21799 and #40551: accept length moves from one version to the next; a recording must say "
        "which one it speaks of.",
    ),
    Clause(
        "golden.sequences",
        Level.MUST,
        "Its sequences are distinct, of the stated lengths and the target's vocabulary, and long enough to decide.",
        "A median over fewer than 64 rows decides nothing; ids of another tokenizer give states of no text.",
    ),
    Clause(
        "golden.shapes",
        Level.MUST,
        "States, logits and drafts of every sequence have the contract's sizes.",
        "sgl-project/sglang issues #8066 and #4997: states of the last chunk alone, rows missing in silence.",
    ),
    Clause(
        "golden.dtype",
        Level.MUST,
        "Every tensor is stored in the dtype that the manifest states, and the contract has a tolerance for it.",
        "A bound of float32 on states of bfloat16 rejects sound servers, the other way round it passes wrong ones.",
    ),
    Clause(
        "golden.finite",
        Level.MUST,
        "No recorded value is NaN or infinite.",
        "vllm-project/speculators PRs #615 and #994: samples with NaN; it compares with nothing, so that a maximum "
        "over it is either lost or always right.",
    ),
    Clause(
        "golden.states",
        Level.MUST,
        "Every recorded boundary and the final state are what the target computes, by a route that did not record it.",
        "lightseekorg/TorchSpec issue #87 and sglang PR #39286: one layer off, or a state overwritten in place, with "
        "every shape right; a forward that checks itself repeats its own fault.",
    ),
    Clause(
        "golden.logits",
        Level.MUST,
        "The recorded log-probabilities follow from the recorded final state, and are those of the target.",
        "One public case had 96 % of the top tokens right with logits of the wrong tensor: distances decide, and no "
        "argmax.",
    ),
    Clause(
        "golden.drafter",
        Level.MUST,
        "The drafter that lies beside the recording is the contract's: its tensors, shapes and vocabulary.",
        "vllm-project/speculators PRs #903 and #1081: a vocabulary mapping of another run drafts other tokens, in "
        "silence.",
    ),
    Clause(
        "golden.drafts",
        Level.MUST,
        "The recorded drafted tokens and logits are those of the recorded drafter on the recorded states.",
        "Agreement of drafted tokens is the sharpest test of a wiring (faults stay below .89); stale ones accuse every "
        "sound drafter.",
    ),
)
