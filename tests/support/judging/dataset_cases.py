"""What the clauses on files, shapes, values and identity of a dataset must say."""

from __future__ import annotations

import dataclasses
from typing import Any

from eagle3_contracts.evidence import DatasetEvidence, Problem, Stranger
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch
from support.judging import declaration_cases
from support.judging.cases import Case, dataset_case
from support.judging.comparisons import compare
from support.judging.dataset_evidence import (
    HALF,
    HEADERS,
    NO_TORCH,
    OTHER,
    PICKLE,
    TWO_FORMATS,
    UNREAD,
    every_file,
    nothing_read,
    odd_file,
    odd_files,
    one_plane,
)
from support.judging.documents import toy_contract
from support.judging.evidence import plane_record, seen, signature, sound_dataset

_FP8 = ("float8_e4m3fn",) * 4
_FP8_TENSORS = (("hidden_states", "float8_e4m3fn [T, 4, 8]"), ("token_ids", "int64 [T]"))
_SCALES = ("hidden_states_scales", "float32 [T, 1, 1]")


def empty(*files: str | None) -> DatasetEvidence:
    """Give a dataset in which some files are empty."""
    told = [Problem("empty", "holds no byte", "write it again", Where(file)) for file in files]
    return sound_dataset(files_read=60, problems=tuple(told))


def no_samples() -> DatasetEvidence:
    """Give the evidence of files that were read, and hold no sample."""
    return dataclasses.replace(nothing_read(), files_read=3)


FILES: tuple[Case, ...] = (
    dataset_case("safe", "tensors only", "must passed"),
    dataset_case("safe", "code in a pickle", "must failed", sound_dataset(problems=(PICKLE,))),
    dataset_case("safe", "some files of many", "must passed", sound_dataset(files_found=12000)),
    dataset_case("safe", "nothing read", "must errored", UNREAD),
    dataset_case("readable", "to the end", "must passed"),
    dataset_case("readable", "some files of many", "must passed", sound_dataset(files_found=12000)),
    dataset_case("readable", "all but one file", "must passed", sound_dataset(files_found=65)),
    dataset_case("readable", "code in a pickle", "must passed", sound_dataset(problems=(PICKLE,))),
    dataset_case("readable", "five files empty", "must failed", empty(*"abcde")),
    dataset_case("readable", "six files empty, one told twice", "must failed", empty(*"abcdeff")),
    dataset_case("readable", "files unknown", "must failed", empty(None, None)),
    dataset_case("readable", "nothing there", "must errored", nothing_read()),
    dataset_case("readable", "files without samples", "must errored", no_samples()),
    dataset_case("readable", "half a file", "must failed", sound_dataset(files_read=63, problems=(HALF,))),
    dataset_case("readable", "none", "must failed", UNREAD),
    dataset_case("readable", "no torch", "must errored", nothing_read(NO_TORCH)),
    dataset_case("schema", "one format", "must passed"),
    dataset_case("schema", "a key missing", "must failed", sound_dataset(files_read=63, problems=(OTHER,))),
    dataset_case("schema", "two formats possible", "must failed", nothing_read(TWO_FORMATS)),
    dataset_case("schema", "nothing read", "must errored", UNREAD),
)


SHAPES: tuple[Case, ...] = (
    dataset_case("plane-count", "as declared", "must passed"),
    dataset_case("plane-count", "one file short", "must failed", odd_file(planes=3)),
    dataset_case(
        "plane-count",
        "two ways",
        "must failed, must failed",
        sound_dataset(
            signatures={
                signature(planes=3): seen("c"),
                signature(planes=5): seen("a"),
                signature(planes=5, mask_surplus=None): seen("b"),
                signature(): seen(count=61),
            }
        ),
    ),
    dataset_case("plane-count", "headers only", "must passed", HEADERS),
    dataset_case("plane-count", "many files", "must failed", odd_files(seen(*"abcd", count=10), planes=3)),
    dataset_case("plane-count", "files not kept", "must failed", odd_files(seen(count=10), planes=3)),
    dataset_case("plane-count", "nothing read", "must errored", UNREAD),
    dataset_case("width", "as declared", "must passed"),
    dataset_case("width", "another target", "must failed", every_file(widths=(16,) * 4)),
    dataset_case("width", "two widths", "must failed", every_file(widths=(16, 8, 12, 8))),
    dataset_case("width", "nothing read", "must errored", UNREAD),
    dataset_case("dtype", "as declared", "must passed"),
    dataset_case("dtype", "float32 stored", "must failed", every_file(dtypes=("float32",) * 4)),
    dataset_case(
        "dtype", "two dtypes", "must failed", every_file(dtypes=("float32", "bfloat16", "float16", "float16"))
    ),
    dataset_case("dtype", "one file in float16", "must failed", odd_file(dtypes=("float16",) * 4)),
    dataset_case("dtype", "nothing read", "must errored", UNREAD),
    dataset_case("scales", "beside", "must passed", every_file(dtypes=_FP8, tensors=(*_FP8_TENSORS, _SCALES))),
    dataset_case("scales", "missing", "must failed", every_file(dtypes=_FP8, tensors=_FP8_TENSORS)),
    dataset_case("scales", "not quantised", "must skipped"),
    dataset_case("scales", "nothing read", "must errored", UNREAD),
    dataset_case("rows", "one per token", "must passed"),
    dataset_case("rows", "one short", "must failed", odd_file(row_surplus=-1)),
    dataset_case("rows", "no token ids", "must errored", odd_file(row_surplus=None)),
    dataset_case("rows", "nothing read", "must errored", UNREAD),
    dataset_case("mask-length", "one per token", "must passed"),
    dataset_case("mask-length", "one long", "must failed", odd_file(mask_surplus=1)),
    dataset_case("mask-length", "no masks", "must skipped", every_file(mask_surplus=None)),
    dataset_case("mask-length", "one without mask", "must errored", odd_file(mask_surplus=None)),
    dataset_case("mask-length", "nothing read", "must errored", UNREAD),
)

_BELOW = sound_dataset(tokens_below_zero=seen("hs_2.safetensors", count=40, token=0))
_BEYOND = sound_dataset(token_maximum=64)

VALUES: tuple[Case, ...] = (
    dataset_case("mask-values", "binary", "must passed", sound_dataset(mask_all_zero=seen("hs_4.safetensors"))),
    dataset_case("mask-values", "weights", "must failed", sound_dataset(mask_other=seen("hs_4.safetensors", count=9))),
    dataset_case("mask-values", "all zeros", "must failed", sound_dataset(mask_all_zero=seen("hs_0", count=64))),
    dataset_case("mask-values", "all ones", "must failed", sound_dataset(mask_all_one=seen("hs_0", count=64))),
    dataset_case("mask-values", "no masks", "must skipped", every_file(mask_surplus=None)),
    dataset_case("mask-values", "headers only", "must skipped", HEADERS),
    dataset_case("mask-values", "nothing read", "must errored", UNREAD),
    dataset_case("token-ids", "in the vocabulary", "must passed"),
    dataset_case("token-ids", "beyond it", "must failed", _BEYOND),
    dataset_case("token-ids", "labels for ids", "must failed", _BELOW),
    dataset_case("token-ids", "headers only", "must skipped", HEADERS),
    dataset_case("token-ids", "no ids", "must errored", sound_dataset(token_maximum=None)),
    dataset_case("finite", "finite", "must passed"),
    dataset_case("finite", "NaN in one file", "must failed", one_plane(nonfinite=seen("hs_3", count=7, token=12))),
    dataset_case("finite", "headers only", "must skipped", HEADERS),
    dataset_case("finite", "nothing read", "must errored", UNREAD),
    dataset_case("zero-rows", "written", "must passed"),
    dataset_case("zero-rows", "slots never written", "must failed", one_plane(zero=seen("hs_3", count=900, token=22))),
    dataset_case("zero-rows", "headers only", "must skipped", HEADERS),
    dataset_case("zero-rows", "nothing read", "must errored", UNREAD),
    dataset_case("norm-range", "inside", "should passed"),
    dataset_case("norm-range", "too high", "should failed", one_plane(norm=37.0)),
    dataset_case("norm-range", "too low", "should failed", one_plane(norm=0.5)),
    dataset_case("norm-range", "on the lower bound", "should passed", one_plane(norm=2.0)),
    dataset_case("norm-range", "on the upper bound", "should passed", one_plane(norm=4.0)),
    dataset_case(
        "norm-range",
        "no finite row",
        "should errored",
        one_plane(nonfinite=seen("a", count=6292), norms=QuantileSketch()),
    ),
    dataset_case("norm-range", "none declared", "should skipped", None, toy_contract("low", "high")),
    dataset_case("norm-range", "headers only", "should skipped", HEADERS),
    dataset_case("norm-range", "nothing read", "should errored", UNREAD),
)

_ZERO = plane_record(zero=seen("hs_0", count=6292))
_ZERO_AND_OTHER = sound_dataset(
    planes=(_ZERO, plane_record(), plane_record(), plane_record()),
    identical_planes={(0, 2): seen("hs_0", count=3), (2, 0): seen("hs_0", count=3), (2, 3): seen("hs_1", count=5)},
)
_ZEROS_TWICE = sound_dataset(
    planes=(_ZERO, plane_record(), _ZERO, plane_record()), identical_planes={(0, 2): seen("hs_0", count=64)}
)
_TWICE = {"a": seen("hs_3.safetensors", "hs_4.safetensors"), "b": seen("hs_5.safetensors")}
_THRICE = {"a": seen("hs_3.safetensors", "hs_4.safetensors", "hs_5.safetensors")}
_ONE_OF_TWO = sound_dataset(state_digests=_THRICE, token_digests=_TWICE)
_WRITTEN_TWICE = sound_dataset(state_digests=_TWICE, token_digests=_TWICE)
_ONE_BUFFER = sound_dataset(state_digests=_TWICE)
_SWAPPED = (
    Stranger(Where("hs_1.safetensors"), 1.31, Where("hs_2.safetensors")),
    Stranger(Where("hs_2.safetensors"), 1.28, Where("hs_1.safetensors")),
)
_UNKNOWN = tuple(Stranger(Where(f"hs_{number}.safetensors"), 1.3) for number in range(4))

IDENTITY: tuple[Case, ...] = (
    dataset_case("distinct", "distinct", "must passed"),
    dataset_case(
        "distinct", "an id twice", "must failed", sound_dataset(identical_planes={(1, 2): seen("hs_0", count=64)})
    ),
    dataset_case("distinct", "planes of zeros", "must passed", _ZEROS_TWICE),
    dataset_case("distinct", "a plane of zeros, and two that are equal", "must failed", _ZERO_AND_OTHER),
    dataset_case(
        "distinct", "two planes", "must passed", sound_dataset(planes=(plane_record(),) * 2), toy_contract("low", "mid")
    ),
    dataset_case("distinct", "one plane", "must skipped", sound_dataset(planes=(plane_record(),)), toy_contract("low")),
    dataset_case("distinct", "headers only", "must skipped", HEADERS),
    dataset_case("distinct", "nothing read", "must errored", UNREAD),
    dataset_case("duplicates", "none", "must passed"),
    dataset_case("duplicates", "a sample twice", "should failed", _WRITTEN_TWICE),
    dataset_case("duplicates", "states of another text", "must failed", _ONE_BUFFER),
    dataset_case("duplicates", "one of two beside another text", "must failed", _ONE_OF_TWO),
    dataset_case("duplicates", "files not kept", "must failed", sound_dataset(state_digests={"a": seen(count=2)})),
    dataset_case("duplicates", "no digest", "must errored", sound_dataset(state_digests={})),
    dataset_case("duplicates", "a text twice", "must passed", sound_dataset(token_digests=_TWICE)),
    dataset_case("duplicates", "headers only", "must skipped", HEADERS),
    dataset_case("duplicates", "nothing read", "must errored", UNREAD),
    dataset_case("identity", "own states", "must passed"),
    dataset_case("identity", "all computed again", "must passed", sound_dataset(recaptured=64)),
    dataset_case("identity", "two files swapped", "must failed", sound_dataset(strangers=_SWAPPED)),
    dataset_case("identity", "nobody's states", "must failed", sound_dataset(strangers=_UNKNOWN[:1])),
    dataset_case("identity", "another target", "must failed", sound_dataset(strangers=_UNKNOWN)),
    dataset_case("identity", "none computed again", "must errored", sound_dataset(recaptured=0)),
    dataset_case("identity", "no target", "must skipped", sound_dataset(comparison=None)),
    dataset_case("boundary", "few files swapped", "must passed", sound_dataset(strangers=_SWAPPED, recaptured=5)),
    dataset_case("boundary", "files swapped", "must errored", sound_dataset(strangers=_SWAPPED)),
    dataset_case("final-state", "files swapped", "must errored", sound_dataset(strangers=_SWAPPED)),
)

STORY_PLANES = ("embed", "low", "mid", "high")
_STORY = toy_contract(*STORY_PLANES)
_EMBED = plane_record(repeat_equal=812)
_STORED = sound_dataset(planes=(_EMBED, plane_record(), plane_record(), plane_record()))
_SOME = sound_dataset(planes=(plane_record(repeat_equal=560), *[plane_record()] * 3))
_FEW = sound_dataset(planes=tuple(plane_record(repeat_pairs=5) for _ in range(4)))
_FEW_PLANES = sound_dataset(planes=(plane_record(repeat_pairs=0), _EMBED))
_SCALED_STORY = toy_contract(*STORY_PLANES, target={"embed_scale": 8.0})
_NORMED = toy_contract("low", "mid", "high", "normed")


def every_plane(**changes: Any) -> DatasetEvidence:
    """Give a dataset with other statistics for every plane."""
    return sound_dataset(planes=(plane_record(**changes),) * 4)


def _shares(embedding: int, others: int) -> DatasetEvidence:
    """Give a dataset with so many equal pairs of repeated tokens of a thousand, by plane."""
    records = [plane_record(repeat_pairs=1000, repeat_equal=equal) for equal in (embedding, others, others, others)]
    return sound_dataset(planes=tuple(records))


def _rms(value: float) -> DatasetEvidence:
    return sound_dataset(comparison=compare(norm_rms=(0.9, 1.9, 3.0, value)))


def _rows(*distances: float) -> DatasetEvidence:
    return sound_dataset(comparison=compare(embedding=distances))


PARTS: tuple[Case, ...] = (
    dataset_case("embedding-repeats", "no embedding declared or stored", "must passed"),
    dataset_case("embedding-repeats", "embedding declared and stored", "must passed", _STORED, _STORY),
    dataset_case("embedding-repeats", "the story: embedding stored, not declared", "must failed", _STORED),
    dataset_case("embedding-repeats", "embedding declared, not stored", "must failed", None, _STORY),
    dataset_case("embedding-repeats", "on the bounds that pass", "must passed", _shares(900, 500), _STORY),
    dataset_case(
        "embedding-repeats", "on the bounds that fail", ", ".join(["must failed"] * 4), _shares(500, 900), _STORY
    ),
    dataset_case("embedding-repeats", "just enough pairs", "must passed", every_plane(repeat_pairs=8)),
    dataset_case("embedding-repeats", "half of it zeros", "must passed", every_plane(zero=seen("a", count=3146))),
    dataset_case(
        "embedding-repeats",
        "more than half of it zeros",
        ", ".join(["must errored"] * 4),
        every_plane(zero=seen("a", count=3147)),
    ),
    dataset_case("embedding-repeats", "neither most nor few", "must errored", _SOME),
    dataset_case("embedding-repeats", "too few repeats", ", ".join(["must errored"] * 4), _FEW),
    dataset_case(
        "embedding-repeats", "quantised", "must skipped", every_file(dtypes=_FP8, tensors=(*_FP8_TENSORS, _SCALES))
    ),
    dataset_case("embedding-repeats", "planes missing", "must errored", sound_dataset(planes=(_EMBED,) * 3)),
    dataset_case("embedding-repeats", "planes missing, no repeats", "must errored", _FEW_PLANES),
    dataset_case("embedding-repeats", "headers only", "must skipped", HEADERS),
    dataset_case("embedding-repeats", "nothing read", "must errored", UNREAD),
    dataset_case("norm-vector", "pre-norm as declared", "must passed"),
    dataset_case("norm-vector", "post-norm as declared", "must passed", _rms(1.0), _NORMED),
    dataset_case("norm-vector", "post-norm for pre-norm", "must failed", _rms(0.999)),
    dataset_case("norm-vector", "pre-norm for post-norm", "must failed", None, _NORMED),
    dataset_case("norm-vector", "on the upper bound, normed", "must passed", _rms(1.1), _NORMED),
    dataset_case("norm-vector", "on the lower bound, normed", "must passed", _rms(0.9), _NORMED),
    dataset_case("norm-vector", "on the upper bound, not normed", "must errored", _rms(2.0)),
    dataset_case("norm-vector", "on the lower bound, not normed", "must errored", _rms(0.5)),
    dataset_case("norm-vector", "in between", "must errored", _rms(1.4)),
    dataset_case("norm-vector", "no final state", "must skipped", None, toy_contract("low", "mid", "high")),
    dataset_case(
        "norm-vector", "planes missing", "must errored", sound_dataset(comparison=compare(norm_rms=(1.9, 21.0)))
    ),
    dataset_case("norm-vector", "no target", "must skipped", sound_dataset(comparison=None)),
    dataset_case("embedding-rows", "no embedding declared or stored", "must passed"),
    dataset_case("embedding-rows", "embedding declared and stored", "must passed", _rows(0.002, 1.2, 1.3, 1.4), _STORY),
    dataset_case("embedding-rows", "embedding stored, not declared", "must failed", _rows(0.0, 1.2, 1.3, 1.4)),
    dataset_case("embedding-rows", "embedding declared, not stored", "must failed", None, _STORY),
    dataset_case("embedding-rows", "rows not finite", "must errored", _rows(float("inf"), 1.2, 1.3, 1.4), _STORY),
    dataset_case("embedding-rows", "on the bound", "must passed", _rows(0.03, 1.2, 1.3, 1.4), _STORY),
    dataset_case("embedding-rows", "on the bound of others", "must errored", _rows(3 * 0.03, 1.2, 1.3, 1.4)),
    dataset_case("embedding-rows", "stored without its scale", "must failed", None, _SCALED_STORY),
    dataset_case("embedding-rows", "no tolerance for the dtype", "must errored", every_file(dtypes=_FP8)),
    dataset_case("embedding-rows", "too close to tell", "must errored", _rows(0.06, 1.2, 1.3, 1.4)),
    dataset_case("embedding-rows", "planes missing", "must errored", _rows(0.0, 1.2, 1.3)),
    dataset_case("embedding-rows", "no target", "must skipped", sound_dataset(comparison=None)),
)
CASES = (*FILES, *declaration_cases.CASES, *SHAPES, *VALUES, *IDENTITY, *PARTS)
