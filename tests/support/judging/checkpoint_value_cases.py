"""Cases of the checkpoint stage: values, stamps and vocabulary."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.contract.stamp import stamp_of_checkpoint
from eagle3_contracts.evidence import DraftedComparison, WeightValues
from support.judging.checkpoint_cases import case, level_of
from support.judging.checkpoint_evidence import FILE, IDS, problem, promised, record, sound_checkpoint
from support.judging.documents import VOCAB


def values(**by_name: WeightValues | None) -> dict[str, Any]:
    """Give the tensors ``a`` and so on of the layer with these values."""
    chosen = dict(zip("abcdef", ("lm_head.weight", "norm.weight", "fc.weight", "d2t"), strict=False))
    weights = sound_checkpoint().weights
    return {chosen[key]: dataclasses.replace(weights[chosen[key]], values=item) for key, item in by_name.items()}


_HEADERS = {name: dataclasses.replace(item, values=None) for name, item in sound_checkpoint().weights.items()}
_HALF = promised(target={"dtype": "float16"})
_RESPONSES = {"fc.weight": 0.4, "norm.weight": 0.02, "lm_head.weight": 0.3}
_NAN = float("nan")


def drafted(agreement: float) -> DraftedComparison:
    """Give drafted tokens that agree this far with those recorded."""
    return DraftedComparison(1200, agreement, (agreement, agreement / 2), "toy-eagle3/1.0.0")


VALUES = (
    case("finite", "sound", "must passed"),
    case("finite", "headers alone", "must errored", tensors=_HEADERS),
    case(
        "finite",
        "one NaN, three, and one not read before them",
        "must failed, must failed",
        tensors=values(a=None, b=WeightValues(1, 2.0), c=WeightValues(3, 1e9)),
    ),
    case(
        "finite",
        "beyond float16",
        "must failed",
        _HALF,
        tensors=values(a=WeightValues(0, 65504.0), b=WeightValues(0, 70000.0)),
    ),
    case("finite", "as large in bfloat16", "must passed", tensors=values(a=WeightValues(0, 1e9))),
    case("fresh-tensors", "sound", "should passed"),
    case("fresh-tensors", "headers alone", "should errored", tensors=_HEADERS),
    case(
        "fresh-tensors",
        "one drawn and one of ones, behind one not read",
        "should failed, should failed",
        tensors=values(a=None, b=WeightValues(fresh="normal with deviation 0.02"), c=WeightValues(constant=1.0)),
    ),
    case(
        "fresh-tensors",
        "zeros where nothing is trained, and behind them",
        "should failed",
        tensors={
            "mask": record("mask", (8,), values=WeightValues(constant=0.0)),
            "d2t": record("d2t", (32,), "int64", values=WeightValues(constant=0.0)),
        }
        | {"norm.weight": record("norm.weight", (8,), values=WeightValues(constant=0.0))},
        without=("d2t", "norm.weight"),
    ),
    case("dead-tensors", "sound", "must passed", responses=_RESPONSES),
    case("dead-tensors", "headers alone", "must errored", tensors=_HEADERS),
    case("dead-tensors", "as quiet as may be", "must passed", responses=_RESPONSES | {"norm.weight": 1e-5}),
    case("dead-tensors", "two", "must failed, must failed", responses=_RESPONSES | {"a": 0.0, "b": 9.9e-6}),
    case("dead-tensors", "not run", "must errored", responses={}),
    case("dead-tensors", "does not run", "must errored", responses={}, problems=(problem("perturbation", None),)),
    case("dead-tensors", "without torch", "must errored", responses={}, problems=(problem("needs", None),)),
    case("dead-tensors", "not for another lack", "must errored", responses={}, problems=(problem("drafted", None),)),
    case(
        "dead-tensors",
        "beyond float32",
        "must errored",
        responses=_RESPONSES | {"norm.weight": _NAN, "x": 0.0},
        tensors=values(a=None, b=WeightValues(0, 3.3e30), c=WeightValues(0, 1e20)),
    ),
    case(
        "dead-tensors",
        "of weights that are not finite",
        "must errored",
        responses=dict.fromkeys(_RESPONSES, _NAN),
        tensors=values(a=None, b=WeightValues(1, 3.3e30)),
    ),
    case("drafted-tokens", "sound", "must passed"),
    case("drafted-tokens", "headers alone", "must errored", tensors=_HEADERS),
    case("drafted-tokens", "as few as may agree", "must passed", drafted=drafted(0.98)),
    case("drafted-tokens", "too few", "must failed", drafted=drafted(0.979)),
    case("drafted-tokens", "no recording", "must skipped", drafted=None),
    case("drafted-tokens", "another lack", "must skipped", drafted=None, problems=(problem("perturbation", None),)),
    case(
        "drafted-tokens",
        "no target",
        "must skipped",
        drafted=None,
        problems=(problem("drafted", None, reason="the target was not given"),),
    ),
    case("drafted-tokens", "does not run", "must errored", drafted=None, problems=(problem("drafted", None),)),
)

_STAMP = stamp_of_checkpoint(promised())
DECLARED = (
    case("declaration", "no stamp", "must skipped"),
    case("declaration", "as made", "must passed, must passed", stamps={"config.json": _STAMP, FILE: _STAMP}),
    case(
        "declaration",
        "two files that say other things, and one that is right",
        "must failed, must failed, must failed",
        stamps={"config.json": _STAMP, FILE: _STAMP | {"boundaries": [1, 2, 3], "dtype": "float16"}}
        | {"eagle3-contract.json": {"contract": "other@1.0.0"}},
    ),
    case("declaration", "says nothing", "must errored", stamps={"config.json": ["contract"], FILE: _STAMP}),
    case(
        "declaration",
        "beside a shard that is cut off",
        "must passed",
        stamps={FILE: _STAMP},
        problems=(problem("truncated"),),
    ),
    case("declaration", "cannot be read", "must errored", stamps={FILE: _STAMP}, problems=(problem("stamp"),)),
)


def ids(*target: int, absolute: bool = False, marks: bool = True) -> dict[str, Any]:
    """Give d2t and t2d of a vocabulary of these target ids."""
    chosen = np.array(target, np.int64)
    inside = chosen[(chosen >= 0) & (chosen < VOCAB)]
    return {
        "d2t": chosen if absolute else chosen - np.arange(len(chosen)),
        "t2d": np.isin(np.arange(VOCAB), inside) if marks else None,
    }


_EVEN = tuple(IDS.tolist())
_ABSOLUTE = promised(drafter={"d2t": "absolute"})
_NONE = promised(drafter={"d2t": "none", "draft_vocab_size": VOCAB})
_WHOLE = promised(drafter={"draft_vocab_size": VOCAB})
_D2T = ("d2t-reading", "d2t-ids", "draft-vocabulary", "t2d-agrees", "special-tokens")
VOCABULARY = (
    *(case(name, "sound", f"{level_of(name)} passed") for name in _D2T),
    *(case(name, "declared to have none", f"{level_of(name)} skipped", _NONE, d2t=None) for name in _D2T),
    *(case(name, "no d2t", f"{level_of(name)} errored", d2t=None) for name in _D2T),
    case("d2t-ids", "a d2t of floats", "must errored", d2t=None, problems=(problem("vocabulary"),)),
    case("d2t-ids", "no d2t, and another lack", "must errored", d2t=None, problems=(problem("perturbation", None),)),
    case("d2t-reading", "two ids without marks", "must failed", **ids(3, 9, absolute=True, marks=False)),
    case("d2t-reading", "neighbours without marks", "must failed", **ids(5, 6, 7, absolute=True, marks=False)),
    case("d2t-reading", "ids themselves", "must failed", **ids(*_EVEN, absolute=True)),
    case("d2t-reading", "ids themselves, no marks", "must failed", **ids(*_EVEN, absolute=True, marks=False)),
    case("d2t-reading", "offsets without marks", "must passed", **ids(0, 1, 5, 9, marks=False)),
    case("d2t-reading", "one offset without marks", "must passed", **ids(7, marks=False)),
    case("d2t-reading", "offsets that rise, by the marks", "must passed", **ids(3, 5, 9, 13)),
    case("d2t-reading", "marks that fit neither", "must passed", **ids(0, 1, 5) | {"t2d": np.arange(VOCAB) == 4}),
    case("d2t-reading", "ids declared and stored", "must passed", _ABSOLUTE, **ids(*_EVEN, absolute=True)),
    case("d2t-reading", "offsets where ids are declared", "must failed", _ABSOLUTE, **ids(*_EVEN)),
    case("d2t-ids", "ids declared and stored", "must passed", _ABSOLUTE, **ids(*_EVEN, absolute=True)),
    case("d2t-ids", "to both ends", "must passed", **ids(0, VOCAB - 1)),
    case("d2t-ids", "neighbours", "must passed", **ids(3, 4, 9)),
    case("d2t-ids", "the first beyond", "must failed", **ids(0, VOCAB)),
    case("d2t-ids", "one below, one far beyond", "must failed", **ids(-1, 5, 900)),
    case("d2t-ids", "one twice", "must failed", **ids(3, 5, 5, 9)),
    case("d2t-ids", "falling at two places and beyond", "must failed, must failed", **ids(3, 9, 5, 99, 2)),
    case("d2t-ids", "none", "must passed", **ids()),
    case("draft-vocabulary", "ids declared and stored", "must passed", _ABSOLUTE, **ids(*_EVEN, absolute=True)),
    case("draft-vocabulary", "the first of the target's", "must failed", **ids(*range(32))),
    case("draft-vocabulary", "the whole of the target's", "must skipped", _WHOLE, **ids(*range(VOCAB))),
    case("draft-vocabulary", "all but one", "must failed", _WHOLE, **ids(*range(VOCAB - 1))),
    case("draft-vocabulary", "three of four at their place", "must passed", **ids(0, 1, 2, 9)),
    case("draft-vocabulary", "none", "must passed", **ids()),
    case("t2d-agrees", "none stored", "must skipped", t2d=None),
    case("t2d-agrees", "too short", "must failed", t2d=np.ones(VOCAB - 1, bool)),
    case("t2d-agrees", "two too few", "must failed", **ids(*_EVEN) | {"t2d": ids(*_EVEN[2:])["t2d"]}),
    case("t2d-agrees", "one too few", "must failed", **ids(*_EVEN) | {"t2d": ids(*_EVEN[1:])["t2d"]}),
    case("t2d-agrees", "ids at both ends and beyond", "must passed", **ids(-2, 0, 63, 64)),
    case("t2d-agrees", "ids declared and stored", "must passed", _ABSOLUTE, **ids(*_EVEN, absolute=True)),
    case("vocabulary-size", "sound", "must passed"),
    case(
        "vocabulary-size",
        "all three others",
        "must failed, must failed, must failed",
        d2t=np.zeros(31, np.int64),
        tensors={"lm_head.weight": record("lm_head.weight", (33, 8))},
        config={"draft_vocab_size": "32"},
    ),
    case(
        "vocabulary-size",
        "the config alone",
        "must passed",
        d2t=None,
        tensors={"lm_head.weight": record("lm_head.weight", ())},
    ),
    case(
        "vocabulary-size",
        "nowhere",
        "must errored",
        d2t=None,
        without=("lm_head.weight",),
        config={"draft_vocab_size": None},
    ),
    case(
        "vocabulary-size",
        "nowhere, where it is the target's",
        "must skipped",
        _NONE,
        d2t=None,
        without=("lm_head.weight",),
        config={"draft_vocab_size": None},
    ),
    case("special-tokens", "no target", "should skipped", special_tokens={}),
    case("special-tokens", "one", "should passed", special_tokens={"end of text 2": 2}),
    case("special-tokens", "one lacks", "should failed", special_tokens={"end of text 3": 3, "end of text 2": 2}),
    case(
        "special-tokens", "four lack", "should failed", special_tokens={f"byte {item}": item for item in (1, 3, 5, 7)}
    ),
    case("special-tokens", "five lack", "should failed", special_tokens={f"byte {item}": item for item in range(10)}),
    case("special-tokens", "ids declared", "should passed", _ABSOLUTE, **ids(*_EVEN, absolute=True)),
)
CASES = (*VALUES, *DECLARED, *VOCABULARY)
