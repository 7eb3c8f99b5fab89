"""Two faults at once: pairs that are both told, and pairs of which one hides the other."""

from __future__ import annotations

Pair = tuple[str, str]

PAIRS: tuple[Pair, ...] = (
    ("document-targets-from-auxiliary-plane", "document-plane-without-use"),
    ("document-no-tolerance", "document-positions-too-few"),
    ("document-input-not-stored", "document-engine-ignores-norm"),
    ("capture-ids-one-late", "capture-special-token-added"),
    ("capture-list-order", "capture-cast-to-float16"),
    ("capture-shifted", "capture-unwritten-slots"),
    ("capture-final-state-normed", "capture-overflow"),
    ("capture-rope-theta-lost", "capture-padding-attended"),
    ("dataset-ids-one-late", "dataset-mask-all-ones"),
    ("dataset-planes-permuted", "dataset-foreign-token-ids"),
    ("dataset-final-state-normed", "dataset-nan-rows"),
    ("dataset-last-state-early", "dataset-sample-twice"),
    ("dataset-shifted", "dataset-mask-long"),
    ("dataset-one-plane-early", "dataset-tail-of-another"),
    ("dataset-default-ids-declared", "dataset-float16"),
    ("loader-planes-permuted", "loader-mask-all-zero"),
    ("loader-wrong-last-plane", "loader-tokens-not-shifted"),
    ("loader-states-cut-in-front", "loader-documents-joined"),
    ("loader-silent-about-files", "loader-targets-not-shifted"),
    ("loader-cast-to-float16", "loader-nan-unchecked"),
    ("checkpoint-ids-in-another-dialect", "checkpoint-rope-base-lost"),
    ("checkpoint-d2t-zeros", "checkpoint-norm-unread"),
    ("checkpoint-random-embedding", "checkpoint-t2d-stale"),
    ("checkpoint-float16", "checkpoint-positions-too-few"),
    ("checkpoint-fc-bias-unread", "checkpoint-ids-twice"),
    ("checkpoint-halves-swapped", "checkpoint-head-shards-swapped"),
    ("launch-drafts-2-of-16", "launch-ids-read-one-late"),
    ("launch-eagle-for-eagle3", "launch-context-beyond-positions"),
    ("launch-drafter-in-float16", "launch-states-from-cached-prefixes"),
    ("server-ids-one-late", "server-quantised"),
    ("server-drafts-2-of-16", "server-logits-drifted"),
    ("server-rows-shifted", "server-target-as-draft"),
    ("server-late-text-low", "server-radix-cache"),
    ("golden-layers-one-late", "golden-of-other-weights"),
    ("golden-logits-of-the-next-row", "golden-rope-of-another-base"),
    ("golden-by-other-tools", "golden-drafts-without-drafter"),
)
"""Pairs of faults whose clauses both fail. Where both are of one clause, its findings name both."""

MASKED: dict[Pair, str] = {
    ("capture-without-hook", "capture-ids-one-late"): "a capture that raises gives no planes",
    ("capture-early-stage-planes-lost", "capture-list-order"): "planes that are missing cannot be placed",
    ("capture-shifted", "capture-final-state-normed"): "no reading of rows that are another token's gives logits",
    ("dataset-plane-added", "dataset-ids-one-late"): "planes are placed by their number in the file",
    ("dataset-files-swapped", "dataset-quantisation-noise"): "states of another sample are near no boundary",
    ("dataset-unscaled", "dataset-shifted"): "states that are scaled are near no boundary at any token",
    ("loader-attribute-unset", "loader-tokens-not-shifted"): "a loader that raises gives no batches",
    ("loader-mask-all-zero", "loader-states-cut-in-front"): "of rows that are not trained, none is trained wrongly",
    ("loader-mask-all-zero", "loader-rows-uncounted"): "rows of neighbours that are not trained do no harm yet",
    ("checkpoint-names-of-no-tool", "checkpoint-d2t-absolute"): "tensors are read once the form is known",
    ("launch-quote-left-open", "launch-drafts-2-of-16"): "a command that ends within a quotation has no flags",
    ("server-one-plane", "server-rows-shifted"): "rows of another width are compared with none",
    ("server-answers-another", "server-rows-zero"): "answers to other prompts say nothing of these",
    ("golden-states-cut-off", "golden-nan"): "a file that cannot be read has no values",
}
"""Pairs of which the first keeps the second's clause from being checked, and why."""

CANCELLED: dict[Pair, str] = {
    ("capture-overflow", "capture-last-id-never-reached"): "the plane that held infinities is the one that is lost",
    ("loader-rows-filled-up", "loader-rows-uncounted"): "rows are counted by nobody, and always as many as tokens",
    ("checkpoint-first-ids", "checkpoint-d2t-absolute"): "a map of zeros read as ids is another defect: 0, 1, 2, ...",
    ("launch-drafts-3-of-2", "launch-flag-misspelt"): "the number of draft tokens is no longer given",
    ("dataset-truncated", "dataset-foreign-token-ids"): "the one file with foreign ids cannot be read to its end",
}
"""Pairs of which one takes the other away, so that its clause passes; what is left fails."""
