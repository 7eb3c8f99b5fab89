"""What a suite for these drafters must tell apart, and where it is shown."""

from __future__ import annotations

from dataclasses import dataclass

_STATES = "faults/test_good_states.py::test_a_convention_that_is_declared_and_kept_to_is_good"
_EXPORTS = "faults/test_good_drafters.py::test_an_export_that_keeps_to_what_is_declared_is_good"


@dataclass(frozen=True, slots=True)
class Fixture:
    """``faults``: by id. ``tests``: sound cases, or what is shown elsewhere, as ``path::name`` below tests/.

    ``left_out``: what of it is no fault of these drafters, and why.
    """

    what: str
    faults: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    left_out: str = ""


FIXTURES: dict[str, Fixture] = {
    "F01": Fixture(
        "a sound target, drafter, dataset, loader, command, server and recording",
        tests=(
            *("faults/test_captures.py::test_a_sound_capture_raises_nothing", _STATES, _EXPORTS),
            "faults/test_datasets.py::test_a_sound_dump_raises_nothing",
            "faults/test_checkpoints.py::test_a_sound_export_raises_nothing",
            "faults/test_loaders.py::test_a_sound_loader_raises_nothing",
            "faults/test_launches.py::test_a_sound_launch_raises_nothing",
            "faults/test_servers.py::test_a_sound_server_raises_nothing",
            "faults/test_goldens.py::test_a_sound_recording_raises_nothing",
        ),
    ),
    "F02": Fixture(
        "the same planes in another convention of ids, declared and not declared",
        ("checkpoint-ids-in-another-dialect", "dataset-default-ids-declared", "launch-ids-read-one-late"),
        (
            _EXPORTS,
            "unit/dialects/test_other_tools.py::test_transformers_index_n_is_post_norm_and_vllm_id_n_is_pre_norm",
        ),
    ),
    "F03": Fixture(
        "ids one boundary off",
        (
            *("capture-ids-one-late", "capture-ids-one-early", "dataset-ids-one-late", "dataset-one-plane-early"),
            *("launch-ids-read-one-late", "server-ids-one-late", "server-ids-one-early"),
        ),
    ),
    "F04": Fixture(
        "ids absent, empty, or stated twice and differently",
        (
            *("checkpoint-ids-absent", "checkpoint-ids-empty", "checkpoint-ids-contradictory"),
            "checkpoint-ids-in-another-place",
        ),
    ),
    "F05": Fixture(
        "ids of the final boundary, listed twice, negative, beyond the target",
        (
            *("document-engine-cannot-tap", "capture-last-id-never-reached", "dataset-id-twice"),
            *("checkpoint-ids-twice", "checkpoint-ids-negative", "checkpoint-ids-of-a-deeper-target"),
        ),
        (_STATES,),
    ),
    "F06": Fixture(
        "planes in another order in fc's input; embedding and hidden halves swapped",
        (
            *("loader-planes-permuted", "dataset-planes-permuted", "capture-list-order", "server-planes-swapped"),
            *("checkpoint-planes-of-fc-reversed", "checkpoint-halves-swapped"),
        ),
        (_STATES,),
    ),
    "F07": Fixture(
        "the last state in another norm state, a layer early, or off while 19 of 20 argmaxes agree",
        (
            *("dataset-final-state-normed", "dataset-final-state-not-normed", "dataset-final-state-normed-twice"),
            *("dataset-last-state-early", "dataset-last-state-disturbed", "capture-final-state-normed"),
            "server-final-before-norm",
        ),
    ),
    "F08": Fixture(
        "a tap without its residual; a tap that the next layer adds to",
        (*("capture-residual-missing", "dataset-residual-missing", "capture-in-place-add", "capture-buffer-reused"),),
        ("architectures/test_in_place.py::test_a_plane_overwritten_halfway_is_told_by_the_target",),
    ),
    "F09": Fixture(
        "d2t of ids, numbered, zero, missing, out of range; t2d of the first ids, or of another count",
        (
            *("checkpoint-d2t-absolute", "checkpoint-d2t-numbered", "checkpoint-d2t-zeros", "checkpoint-d2t-missing"),
            *("checkpoint-d2t-out-of-range", "checkpoint-first-ids", "checkpoint-t2d-too-few", "checkpoint-t2d-stale"),
            *("checkpoint-vocabulary-size", "golden-drafter-of-another-vocabulary"),
        ),
    ),
    "F10": Fixture(
        "a draft vocabulary without the end of text, special or byte tokens",
        ("checkpoint-end-of-text-dropped",),
        ("unit/checkpoints/test_reading.py::test_bytes_and_ends_of_text_are_found",),
    ),
    "F11": Fixture(
        "tensors that lack, are random, bear other names, or are read by no flag; flags without tensors",
        (
            *("checkpoint-head-missing", "checkpoint-random-embedding", "checkpoint-names-not-translated"),
            *("checkpoint-names-of-no-tool", "checkpoint-norm-unread", "checkpoint-norm-flag-lost"),
            *("checkpoint-fc-bias-unread", "checkpoint-bias-flag", "checkpoint-tied"),
        ),
        (_EXPORTS,),
    ),
    "F12": Fixture("queries stored in another order of heads", ("checkpoint-queries-interleaved",)),
    "F13": Fixture(
        "rope keys in the old layout and the new; base, scaling, pairing or positions lost",
        (
            *("checkpoint-rope-base-lost", "checkpoint-rope-scaling-lost", "checkpoint-rope-interleaved"),
            *("checkpoint-positions-too-few", "launch-context-beyond-positions", "capture-rope-theta-lost"),
            *("golden-rope-of-another-base", "server-context-beyond-positions"),
        ),
        (_EXPORTS, "architectures/test_ropes.py::test_both_layouts_are_read_as_transformers_reads_them"),
    ),
    "F14": Fixture(
        "rows missing, chunked, of zeros, not finite, permuted, swapped; other keys, axes, dtypes, token ids",
        (
            *("dataset-row-short", "dataset-last-chunk-alone", "dataset-chunk-edge-twice", "dataset-batch-dimension"),
            *("dataset-unwritten-slots", "dataset-plane-of-zeros", "dataset-nan-rows", "dataset-overflow"),
            *("dataset-float16", "dataset-other-keys", "dataset-files-swapped", "dataset-rows-mixed"),
            *("dataset-tail-of-another", "dataset-states-of-other-request", "dataset-thinking-stripped"),
        ),
        (
            "unit/datasets/test_recognition.py::test_planes_and_tokens_on_swapped_axes_fit_no_format",
            "unit/datasets/test_recognition.py::test_as_many_planes_as_tokens_are_read_as_the_format_declares",
        ),
    ),
    "F15": Fixture(
        "a loader that shifts twice, not at all, or not the mask; masks of zeros and ones; documents joined",
        (
            *("loader-tokens-shifted-twice", "loader-tokens-not-shifted", "loader-targets-not-shifted"),
            *("loader-mask-shifted-twice", "loader-mask-all-zero", "loader-documents-joined", "loader-padding-trained"),
            *("dataset-mask-all-ones", "dataset-mask-all-zeros"),
        ),
        left_out="mask_token_id equal to the end of text: EAGLE-3 drafters have no mask token (DFlash's have)",
    ),
    "F16": Fixture(
        "states rotated, noisy, or cast until they overflow",
        (
            *("capture-rotated-stream", "dataset-rotated-stream", "dataset-quantisation-noise", "dataset-overflow"),
            *("capture-overflow", "checkpoint-overflow", "checkpoint-float16", "launch-drafter-in-float16"),
        ),
    ),
    "F17": Fixture(
        "steps, topk and draft tokens that do not fit; EAGLE for EAGLE-3; no draft",
        (
            *("launch-drafts-2-of-16", "launch-drafts-3-of-2", "launch-tree-beyond-its-candidates"),
            *("launch-eagle-for-eagle3", "launch-without-draft", "server-drafts-2-of-16", "server-eagle-for-eagle3"),
        ),
        ("faults/test_good_drafters.py::test_a_launch_that_keeps_to_what_is_declared_is_good",),
    ),
    "F18": Fixture(
        "acceptance low at the first position, decaying, or low in late text; counters that overcount",
        (
            *("server-first-position-low", "server-decays", "server-late-text-low"),
            *("server-counts-too-many-rounds", "server-misstates-accept-length"),
        ),
        ("faults/test_good_drafters.py::test_a_server_that_drafts_more_or_fewer_tokens_is_good",),
        left_out="pooled against mean of means: the suite pools, and takes no tool's own figure",
    ),
    "F19": Fixture(
        "a weak drafter that is wired right",
        tests=(
            *("unit/diagnosis/test_verdicts.py::test_a_weak_drafter_that_is_wired_right_is_under_trained", _EXPORTS),
            "faults/test_weak_drafters.py::test_a_drafter_of_a_few_updates_violates_no_must",
        ),
    ),
}
