"""What the clauses on files, shapes, values and identity of a dataset must say."""

from __future__ import annotations

from typing import Any

from eagle3_contracts.evidence import DatasetEvidence, Problem, Stranger
from eagle3_contracts.findings import Where
from support.judging.cases import Case, dataset_case
from support.judging.comparisons import compare
from support.judging.documents import toy_contract
from support.judging.evidence import plane_record, seen, signature, sound_dataset

PICKLE = Problem(
    "unsafe", "the pickle asks for posix.system", "write tensors and plain values only", Where("data_3.pt")
)
HALF = Problem("truncated", "ends after 4,096 of 81,920 bytes", "write it again", Where("hs_7.safetensors"))
OTHER = Problem("missing", "has no key token_ids", "write token_ids beside hidden_states", Where("hs_8.safetensors"))
TWO_FORMATS = Problem("ambiguous", "could be modelopt or torchspec", "name the format", Where("0.pt"))
NO_TORCH = Problem("needs", "reading .pt files needs torch", "pip install 'eagle3-contracts[torch]'", Where("0.pt"))


def nothing_read(*problems: Problem) -> DatasetEvidence:
    """Give the evidence of a dataset of three files of which none could be read."""
    return sound_dataset(
        format=None,
        files_found=3,
        files_read=0,
        samples=0,
        signatures={},
        planes=(),
        token_maximum=None,
        token_digests={},
        state_digests={},
        comparison=None,
        recaptured=0,
        problems=problems,
    )


UNREAD = nothing_read(HALF)
HEADERS = sound_dataset(
    scan="headers", planes=(), token_maximum=None, token_digests={}, state_digests={}, comparison=None
)


def odd_file(**changes: Any) -> DatasetEvidence:
    """Give a dataset in which one file of 64 has another signature."""
    shapes = {signature(): seen("hs_0.safetensors", count=63), signature(**changes): seen("hs_5.safetensors")}
    return sound_dataset(signatures=shapes)


def every_file(**changes: Any) -> DatasetEvidence:
    """Give a dataset in which all files have another signature."""
    return sound_dataset(signatures={signature(**changes): seen("hs_0.safetensors", "hs_1.safetensors", count=64)})


def one_plane(index: int = 1, **changes: Any) -> DatasetEvidence:
    """Give a dataset with other statistics for one plane."""
    return sound_dataset(planes=tuple(plane_record(**(changes if place == index else {})) for place in range(4)))


_FP8 = ("float8_e4m3fn",) * 4
_FP8_TENSORS = (("hidden_states", "float8_e4m3fn [T, 4, 8]"), ("token_ids", "int64 [T]"))
_SCALES = ("hidden_states_scales", "float32 [T, 1, 1]")

FILES: tuple[Case, ...] = (
    dataset_case("safe", "tensors only", "must passed"),
    dataset_case("safe", "code in a pickle", "must failed", sound_dataset(problems=(PICKLE,))),
    dataset_case("safe", "nothing read", "must errored", UNREAD),
    dataset_case("readable", "to the end", "must passed"),
    dataset_case("readable", "half a file", "must failed", sound_dataset(files_read=63, problems=(HALF,))),
    dataset_case("readable", "none", "must failed", UNREAD),
    dataset_case("readable", "no torch", "must errored", nothing_read(NO_TORCH)),
    dataset_case("schema", "one format", "must passed"),
    dataset_case("schema", "a key missing", "must failed", sound_dataset(files_read=63, problems=(OTHER,))),
    dataset_case("schema", "two formats possible", "must failed", nothing_read(TWO_FORMATS)),
    dataset_case("schema", "nothing read", "must errored", UNREAD),
)


def declaring(**declared: Any) -> DatasetEvidence:
    """Give a dataset whose files say something of themselves."""
    return sound_dataset(declared=declared)


def configured(ids: list[int], version: str = "0.4.0") -> DatasetEvidence:
    """Give a dataset beside which speculators wrote its data_config.json."""
    config = {"speculators_version": version, "hidden_states": {"layer_ids": ids}}
    return sound_dataset(format="speculators-v1", declared={"data_config": config})


DECLARATIONS: tuple[Case, ...] = (
    dataset_case("declaration", "the flag as declared", "must passed", declaring(hidden_states_prenorm=True)),
    dataset_case("declaration", "the flag contradicts", "must failed", declaring(hidden_states_prenorm=False)),
    dataset_case("declaration", "files differ", "must failed", declaring(hidden_states_prenorm=(False, True))),
    dataset_case("declaration", "stamped", "must passed", declaring(stamp={"contract": "toy-eagle3@1.0.0"})),
    dataset_case(
        "declaration", "stamped for another", "must failed", declaring(stamp={"contract": "toy-eagle3@2.0.0"})
    ),
    dataset_case("declaration", "layer ids as declared", "must passed", configured([1, 3, 5, 7])),
    dataset_case("declaration", "layer ids one late", "must failed", configured([2, 4, 6, 7])),
    dataset_case("declaration", "unknown version", "must errored", configured([1, 3, 5, 7], "0.1.0")),
    dataset_case("declaration", "no version", "must errored", configured([1, 3, 5, 7], "main")),
    dataset_case("declaration", "nothing said", "must skipped"),
    dataset_case("declaration", "no tables", "must skipped", declaring(stamp=[1], data_config="x")),
    dataset_case("declaration", "nothing read", "must errored", UNREAD),
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
                signature(planes=3): seen("a", "b"),
                signature(planes=5): seen("c"),
                signature(): seen(count=61),
            }
        ),
    ),
    dataset_case("plane-count", "nothing read", "must errored", UNREAD),
    dataset_case("width", "as declared", "must passed"),
    dataset_case("width", "another target", "must failed", every_file(widths=(16,) * 4)),
    dataset_case("width", "nothing read", "must errored", UNREAD),
    dataset_case("dtype", "as declared", "must passed"),
    dataset_case("dtype", "float32 stored", "must failed", every_file(dtypes=("float32",) * 4)),
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
    dataset_case("norm-range", "none declared", "should skipped", None, toy_contract("low", "high")),
    dataset_case("norm-range", "headers only", "should skipped", HEADERS),
    dataset_case("norm-range", "nothing read", "should errored", UNREAD),
)

_ZERO = plane_record(zero=seen("hs_0", count=6292))
_ZEROS_TWICE = sound_dataset(
    planes=(_ZERO, plane_record(), _ZERO, plane_record()), identical_planes={(0, 2): seen("hs_0", count=64)}
)
_TWICE = {"a": seen("hs_3.safetensors", "hs_4.safetensors"), "b": seen("hs_5.safetensors")}
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
    dataset_case("distinct", "one plane", "must skipped", sound_dataset(planes=(plane_record(),)), toy_contract("low")),
    dataset_case("distinct", "headers only", "must skipped", HEADERS),
    dataset_case("distinct", "nothing read", "must errored", UNREAD),
    dataset_case("duplicates", "none", "must passed"),
    dataset_case("duplicates", "a sample twice", "should failed", _WRITTEN_TWICE),
    dataset_case("duplicates", "states of another text", "must failed", _ONE_BUFFER),
    dataset_case("duplicates", "a text twice", "must passed", sound_dataset(token_digests=_TWICE)),
    dataset_case("duplicates", "headers only", "must skipped", HEADERS),
    dataset_case("duplicates", "nothing read", "must errored", UNREAD),
    dataset_case("identity", "own states", "must passed"),
    dataset_case("identity", "two files swapped", "must failed", sound_dataset(strangers=_SWAPPED)),
    dataset_case("identity", "nobody's states", "must failed", sound_dataset(strangers=_UNKNOWN[:1])),
    dataset_case("identity", "another target", "must failed", sound_dataset(strangers=_UNKNOWN)),
    dataset_case("identity", "none computed again", "must errored", sound_dataset(recaptured=0)),
    dataset_case("identity", "no target", "must skipped", sound_dataset(comparison=None)),
    dataset_case("boundary", "files swapped", "must errored", sound_dataset(strangers=_SWAPPED)),
    dataset_case("final-state", "files swapped", "must errored", sound_dataset(strangers=_SWAPPED)),
)

STORY_PLANES = ("embed", "low", "mid", "high")
_STORY = toy_contract(*STORY_PLANES)
_EMBED = plane_record(repeat_equal=812)
_STORED = sound_dataset(planes=(_EMBED, plane_record(), plane_record(), plane_record()))
_SOME = sound_dataset(planes=(plane_record(repeat_equal=560), *[plane_record()] * 3))
_FEW = sound_dataset(planes=tuple(plane_record(repeat_pairs=5) for _ in range(4)))
_NORMED = toy_contract("low", "mid", "high", "normed")


def _rms(value: float) -> DatasetEvidence:
    return sound_dataset(comparison=compare(norm_rms=(0.9, 1.9, 3.0, value)))


def _rows(*distances: float) -> DatasetEvidence:
    return sound_dataset(comparison=compare(embedding=distances))


PARTS: tuple[Case, ...] = (
    dataset_case("embedding-repeats", "no embedding declared or stored", "must passed"),
    dataset_case("embedding-repeats", "embedding declared and stored", "must passed", _STORED, _STORY),
    dataset_case("embedding-repeats", "the story: embedding stored, not declared", "must failed", _STORED),
    dataset_case("embedding-repeats", "embedding declared, not stored", "must failed", None, _STORY),
    dataset_case("embedding-repeats", "neither most nor few", "must errored", _SOME),
    dataset_case("embedding-repeats", "too few repeats", ", ".join(["must errored"] * 4), _FEW),
    dataset_case(
        "embedding-repeats", "quantised", "must skipped", every_file(dtypes=_FP8, tensors=(*_FP8_TENSORS, _SCALES))
    ),
    dataset_case("embedding-repeats", "planes missing", "must errored", sound_dataset(planes=(_EMBED,) * 3)),
    dataset_case("embedding-repeats", "headers only", "must skipped", HEADERS),
    dataset_case("embedding-repeats", "nothing read", "must errored", UNREAD),
    dataset_case("norm-vector", "pre-norm as declared", "must passed"),
    dataset_case("norm-vector", "post-norm as declared", "must passed", _rms(1.0), _NORMED),
    dataset_case("norm-vector", "post-norm for pre-norm", "must failed", _rms(0.999)),
    dataset_case("norm-vector", "pre-norm for post-norm", "must failed", None, _NORMED),
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
    dataset_case("embedding-rows", "too close to tell", "must errored", _rows(0.06, 1.2, 1.3, 1.4)),
    dataset_case("embedding-rows", "planes missing", "must errored", _rows(0.0, 1.2, 1.3)),
    dataset_case("embedding-rows", "no target", "must skipped", sound_dataset(comparison=None)),
)
CASES = (*FILES, *DECLARATIONS, *SHAPES, *VALUES, *IDENTITY, *PARTS)
