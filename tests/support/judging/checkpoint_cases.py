"""Cases of the checkpoint stage: what could not be read, files, and tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from support.judging.cases import Case
from support.judging.checkpoint_evidence import problem, promised, record, sound_checkpoint

NOTHING = CheckpointEvidence("drafter")


def case(clause: str, name: str, expected: str, contract: Contract | None = None, **changes: Any) -> Case:
    """Make a case; ``expected`` lists the findings, joined by ``, ``; ``changes`` are those of ``sound_checkpoint``."""
    contract = contract or promised()
    found = tuple(expected.split(", "))
    return Case(f"checkpoint.{clause}", name, found, sound_checkpoint(contract, **changes), contract)


def level_of(name: str) -> str:
    """Give the level of a clause that is one of several in a row of cases."""
    return "should" if name in {"fresh-tensors", "special-tokens"} else "must"


def nothing(clause: str, name: str, expected: str, **changes: Any) -> Case:
    """Make a case of a folder of which nothing was read."""
    found = tuple(expected.split(", "))
    return Case(f"checkpoint.{clause}", name, found, dataclasses.replace(NOTHING, **changes), promised())


CONFIG = (
    *("declaration", "tied-embeddings", "engine-start", "taps", "fc-width", "fc-applied", "layer-count", "norm-flags"),
    *("bias-flags", "rope", "positions", "vocabulary-size"),
)
"""Clauses that read config.json."""
TENSORS = (
    *("embedding", "fc-width", "tensors-present", "tensors-read", "shapes", "dtypes", "engine-tensors", "finite"),
    *("fresh-tensors", "dead-tensors", "drafted-tokens", "d2t-reading", "d2t-ids", "draft-vocabulary", "t2d-agrees"),
    *("vocabulary-size", "special-tokens"),
)
"""Clauses that need all tensors."""
UNREAD = (
    *(case(name, "a config.json that is cut off", "must errored", broken_config=True) for name in CONFIG),
    case(
        "rope",
        "both cut off",
        "must errored",
        config={},
        problems=(problem("truncated"), problem("config", "config.json")),
        unset=tuple(sound_checkpoint().config),
    ),
    *(
        case(name, "a shard that is cut off", f"{level_of(name)} errored", problems=(problem("truncated"),))
        for name in TENSORS
    ),
    *(nothing(name, "an empty config.json", "must errored") for name in ("engine-start", "declaration")),
    nothing("shapes", "no tensor", "must errored"),
    nothing("shapes", "tensors whose form is not known", "must errored", weights={"a": record("a", (8,))}),
    nothing("rope", "a folder that is missing", "must errored", problems=(problem("missing", "drafter"),)),
    *(
        case("shapes", f"what is {kind}", "must errored", problems=(problem(kind),))
        for kind in ("unsafe", "missing", "corrupt", "unsupported", "needs")
    ),
    case("shapes", "a package that only running the drafter needs", "must passed", problems=(problem("needs", None),)),
)
"""What was read beside something broken is not judged."""

_ALL = tuple(problem(kind) for kind in ("unsafe", "missing", "truncated", "corrupt", "unsupported", "config"))
_SPLIT = {"fc.weight": record("fc.weight", (8, 24), file="model-2.safetensors")}
FILES = (
    case("safe", "sound", "must passed"),
    case("safe", "more than tensors, and a shard elsewhere", "must failed, must failed", problems=(_ALL[0], _ALL[0])),
    case("safe", "broken otherwise", "must passed", problems=_ALL[1:]),
    nothing("safe", "nothing", "must errored"),
    nothing("safe", "no file", "must errored", problems=(problem("unknown-format"), problem("missing", "drafter"))),
    nothing("safe", "a package that is not installed", "must errored", problems=(problem("needs"),)),
    case("readable", "two files", "must passed", tensors=_SPLIT),
    case("readable", "in every way", ", ".join(["must failed"] * 5), problems=_ALL),
    case("readable", "of no form", "must passed", problems=(problem("unknown-format"),)),
    nothing("readable", "nothing", "must errored"),
    nothing("readable", "a package that is not installed", "must errored", problems=(problem("needs"),)),
    case("form", "sound", "must passed"),
    case("form", "none that a trainer writes", "must failed", form=None, problems=(problem("unknown-format"),)),
    nothing("form", "no tensor", "must errored"),
    nothing("form", "cut off", "must errored", problems=(problem("truncated"),)),
)

LAYER = tuple(name for name in sound_checkpoint().weights if name.startswith("midlayer."))
_UP = "midlayer.mlp.up_proj.weight"
_OWN = promised(drafter={"embedding": "own"})
_LENT = promised(drafter={"lm_head": "target_rows"})


_SEVERAL = dict.fromkeys(("norm.weight", "fc.weight", "lm_head.weight"), "float32") | {
    "d2t": "float16",
    "midlayer.hidden_norm.weight": "uint8",
    "midlayer.mlp.up_proj.weight": "uint8",
}


def stray(name: str, *shape: int, dtype: str = "bfloat16") -> dict[str, Any]:
    """Give one tensor more, which no tool renames."""
    return {name: record(name, shape or (8,), dtype)}


TENSORS_CASES = (
    case("tensors-present", "sound", "must passed"),
    case("tensors-present", "an embedding of its own", "must passed", _OWN),
    case(
        "tensors-present",
        "an embedding that the target would lend",
        "must passed",
        tensors={"embed_tokens.weight": record("embed_tokens.weight", (64, 8))},
    ),
    case("tensors-present", "a head that the target lends too", "must passed", _LENT, without=("lm_head.weight",)),
    case("tensors-present", "an embedding of its own lacks", "must failed", _OWN, without=("embed_tokens.weight",)),
    case("tensors-present", "two, one of them d2t", "must failed, must failed", without=("d2t", "fc.weight")),
    case("tensors-present", "a whole layer", "must failed", without=LAYER),
    case(
        "tensors-present",
        "a layer under another name",
        "must failed",
        without=(_UP,),
        tensors=stray("speculator.block.mlp.up_proj.weight", 16, 8) | stray("a.attention.up_proj.weight", 16, 8),
    ),
    case(
        "tensors-present",
        "one under a similar name",
        "must failed",
        without=("norm.weight",),
        tensors=stray("nrm.weight") | stray("aaa.weight") | stray("norms.weighty"),
    ),
    case("tensors-read", "sound", "must passed"),
    case("tensors-read", "none idle", "must passed", without=("t2d",), idle=()),
    case("tensors-read", "two idle", "must passed", idle=("t2d", "norm.weight")),
    case("tensors-read", "two strays", "must failed, must failed", tensors=stray("mask") | stray("x.bias", 3, 4)),
    case("tensors-read", "two scales", "must failed", tensors=stray("fc.weight_scale", 1) | stray("fc.zero_point", 1)),
    case("tensors-read", "a scale", "must failed", tensors=stray("fc.weight_scale", 1)),
    case(
        "tensors-read",
        "scales, and a stray between them",
        "must failed, must failed",
        tensors=stray("fc.qzeros", 1) | stray("mask") | stray("fc.g_idx", 1) | stray("fc.scales", 1),
    ),
    case("shapes", "sound", "must passed"),
    case(
        "shapes",
        "two others",
        "must failed, must failed",
        tensors={"fc.weight": record("fc.weight", (8, 16)), "norm.weight": record("norm.weight", (9,))},
    ),
    case("shapes", "without a config.json", "must passed", broken_config=True, problems=()),
    case("dtypes", "sound", "must passed"),
    case("dtypes", "as the drafter declares", "must passed", promised(drafter={"dtype": "float32"})),
    case("dtypes", "one in float32", "must failed", tensors=stray("norm.weight", dtype="float32")),
    case(
        "dtypes",
        "three in float32, d2t in floats, weights whole",
        "must failed, must failed, must failed",
        tensors={name: record(name, (8,), dtype) for name, dtype in _SEVERAL.items()},
    ),
    case(
        "dtypes",
        "four in float32",
        "must failed",
        tensors={name: record(name, (8,), "float32") for name in ("norm.weight", "fc.weight", *LAYER[:2])},
    ),
    case("dtypes", "d2t in bfloat16", "must failed", tensors=stray("d2t", 32)),
    case("dtypes", "d2t in uint32", "must passed", tensors=stray("d2t", 32, dtype="uint32")),
    case(
        "dtypes",
        "a scale, and a stray behind it",
        "must failed",
        tensors=stray("fc.scales", 1, dtype="float32") | stray("mask", dtype="float32"),
    ),
    case("dtypes", "a stray in float32", "must failed", tensors=stray("mask", dtype="float32")),
    case("dtypes", "scales in float32", "must passed", tensors=stray("fc.weight_scale", 1, dtype="float32")),
    case(
        "dtypes",
        "said to be quantised twice",
        "must failed, must failed",
        quantisation={"config.json: quantization_config": "fp8", "hf_quant_config.json": "NVFP4"},
    ),
)

CASES = (*UNREAD, *FILES, *TENSORS_CASES)
