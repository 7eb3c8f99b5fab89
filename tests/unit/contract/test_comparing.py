"""Comparing two versions: each change named with its place, both values and its kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eagle3_contracts.contract.changes import Change, Kind
from eagle3_contracts.contract.comparing import compare, compare_contracts, next_version
from support.documents import GONE, make_contract

PLANE = {"name": "extra", "boundary": 5}
NORM = {"median": [1.0, 2.0], "origin": "measured"}
KINDS: dict[Kind, dict[str, tuple[dict[str, Any], dict[str, Any], str]]] = {
    Kind.BREAKING: {
        "another boundary": ({}, {"planes.low.boundary": 3}, "planes.low"),
        "another state": ({}, {"drafter.last_hidden": "final_normed"}, "drafter.last_hidden"),
        "another order into fc": ({}, {"drafter.input": ["mid", "low", "high"]}, "drafter.input"),
        "another order on disk": ({}, {"storage.planes": ["mid", "low", "high", "final"]}, "storage.planes"),
        "another order in a format": (
            {},
            {"storage.formats.modelopt": ["low", "mid", "high", "final"]},
            "storage.formats.modelopt",
        ),
        "another dtype on disk": ({}, {"storage.dtype": "float16"}, "storage.dtype"),
        "another dtype in a format": ({}, {"storage.dtypes.torchspec": "float16"}, "storage.dtypes.torchspec"),
        "another width": ({}, {"drafter.intermediate_size": 1}, "drafter.intermediate_size"),
        "another meaning of d2t": ({}, {"drafter.d2t": "absolute"}, "drafter.d2t"),
        "another target": ({}, {"target.model": "meta-llama/other"}, "target.model"),
        "a pin": ({"target.revision": GONE}, {"target.revision": "abc"}, "target.revision"),
        "another pin": ({}, {"target.revision": "abc"}, "target.revision"),
        "fewer offsets": ({"alignment.position": [0, 1]}, {}, "alignment.position"),
        "another offset": ({}, {"alignment.position": [0]}, "alignment.position"),
        "a first norm range": ({}, {"planes.mid.norm": NORM}, "planes.mid.norm.median"),
        "a narrower norm range": ({}, {"planes.low.norm.median": [2.0, 9.0]}, "planes.low.norm.median"),
        "a tighter tolerance": (
            {},
            {"tolerance.bfloat16.relative_l2_median": 0.02},
            "tolerance.bfloat16.relative_l2_median",
        ),
        "a tolerance less": ({}, {"tolerance.float32": GONE}, "tolerance.float32.relative_l2_median"),
        "an engine less": ({}, {"serving.engines": {}}, "serving.engines.vllm"),
        "fewer versions": ({}, {"serving.engines.vllm": ">=0.22,<0.30"}, "serving.engines.vllm"),
        "more draft tokens": ({}, {"serving.min_draft_tokens": 4}, "serving.min_draft_tokens"),
        "shorter contexts": ({}, {"serving.context_length": 4096}, "serving.context_length"),
        "contexts with a limit": ({"serving.context_length": GONE}, {}, "serving.context_length"),
        "no norm before the head": ({}, {"drafter.last_hidden_norm": False}, "drafter.last_hidden_norm"),
    },
    Kind.COMPATIBLE: {
        "another name for a plane": (
            {},
            {
                "planes.final.name": "last",
                "storage.planes": ["low", "mid", "high", "last"],
                "storage.formats": {
                    "tensorrt-llm": ["low", "mid", "high", "final_normed"],
                    "torchspec": ["low", "mid", "high", "final_normed"],
                    "modelopt": ["low", "mid", "high", "final_normed"],
                    "angelslim": ["low", "mid", "high", "final_normed"],
                    "specforge": ["low", "mid", "high", "final_normed"],
                },
                "drafter.last_hidden": "last",
            },
            "planes.final.name",
        ),
        "a plane that nothing names": ({}, {"planes.extra": PLANE}, "planes.extra"),
        "a plane less that nothing named": ({"planes.extra": PLANE}, {}, "planes.extra"),
        "more offsets": ({}, {"alignment.position": [0, 1]}, "alignment.position"),
        "a pin less": ({}, {"target.revision": GONE}, "target.revision"),
        "a wider norm range": ({}, {"planes.low.norm.median": [0.5, 9.0]}, "planes.low.norm.median"),
        "no norm range": ({}, {"planes.low.norm": GONE}, "planes.low.norm.median"),
        "a looser tolerance": ({}, {"tolerance.bfloat16.logprob_max": 0.5}, "tolerance.bfloat16.logprob_max"),
        "another tolerance": (
            {"tolerance.float32": GONE},
            {},
            "tolerance.float32.relative_l2_median",
        ),
        "another engine": ({}, {"serving.engines.sglang": ">=0.5.20"}, "serving.engines.sglang"),
        "a first engine": ({"serving": GONE}, {}, "serving.engines.vllm"),
        "more versions": ({}, {"serving.engines.vllm": ">=0.20"}, "serving.engines.vllm"),
        "fewer draft tokens": ({}, {"serving.min_draft_tokens": 2}, "serving.min_draft_tokens"),
        "longer contexts": ({}, {"serving.context_length": 9999}, "serving.context_length"),
    },
    Kind.EDITORIAL: {
        "another summary": ({}, {"summary": "Said better."}, "summary"),
        "other sources": ({}, {"sources": []}, "sources"),
        "another origin of a tolerance": ({}, {"tolerance.float32.origin": "x"}, "tolerance.float32.origin"),
        "another origin of a norm": ({}, {"planes.low.norm.origin": "x"}, "planes.low.norm.origin"),
        "another name": ({}, {"name": "example-other"}, "name"),
        "the same versions": ({}, {"serving.engines.vllm": "<=0.33.0, >=0.22"}, "serving.engines.vllm"),
        "the same, written out": ({}, {"drafter.norm": {"eps": 1e-5}}, "document"),
        "the same order, written out": (
            {"storage.formats.speculators-v1": GONE},
            {},
            "document",
        ),
    },
}
CASES = [(kind, title) for kind, cases in KINDS.items() for title in cases]


@pytest.mark.parametrize(("kind", "title"), CASES, ids=[f"{kind}: {title}" for kind, title in CASES])
def test_a_change_has_a_place_and_a_kind(kind: Kind, title: str) -> None:
    old, new, place = KINDS[kind][title]
    changes = compare_contracts(make_contract(old), make_contract(new))
    found = {change.place: change for change in changes}
    assert place in found, found
    assert found[place].kind is kind
    assert found[place].reason
    # The gravest kind is the one that the case is about: nothing else changed more.
    assert compare(make_contract(old), make_contract(new)).kind is kind


def test_nothing_changed() -> None:
    comparison = compare(make_contract(), make_contract())
    assert comparison.changes == ()
    assert comparison.kind is None
    assert comparison.version_suffices


def test_planes_that_swap_their_boundaries_change_the_lists() -> None:
    swapped = make_contract({"planes.low.boundary": 16, "planes.mid.boundary": 2})
    changes = {change.place: change for change in compare_contracts(make_contract(), swapped)}
    assert changes["drafter.input"].old == ["low (boundary 2)", "mid (boundary 16)", "high (boundary 29)"]
    assert changes["drafter.input"].new == ["low (boundary 16)", "mid (boundary 2)", "high (boundary 29)"]
    assert changes["drafter.input"].kind is Kind.BREAKING


def test_planes_that_only_swap_names_change_nothing_else() -> None:
    changes = {"planes.low.name": "tmp"}
    order = ["tmp", "mid", "high", "final"]
    changes |= {"storage": {"planes": order, "dtype": "bfloat16"}, "drafter.input": order[:3]}
    old = make_contract({"storage": {"planes": ["low", "mid", "high", "final"], "dtype": "bfloat16"}})
    assert [change.place for change in compare_contracts(old, make_contract(changes))] == ["planes.low.name"]


@pytest.mark.parametrize(
    ("version", "kind", "least"),
    [
        ("1.2.3", Kind.BREAKING, "2.0.0"),
        ("1.2.3", Kind.COMPATIBLE, "1.3.0"),
        ("1.2.3", Kind.EDITORIAL, "1.2.4"),
        ("1.2.3", None, "1.2.3"),
        ("0.2.3", Kind.BREAKING, "0.3.0"),
        ("0.2.3", Kind.COMPATIBLE, "0.3.0"),
    ],
)
def test_a_kind_calls_for_a_version(version: str, kind: Kind | None, least: str) -> None:
    assert next_version(version, kind) == least


@pytest.mark.parametrize(
    ("version", "change", "suffices"),
    [
        ("1.0.1", {"planes.low.boundary": 3}, False),
        ("1.9.0", {"planes.low.boundary": 3}, False),
        ("2.0.0", {"planes.low.boundary": 3}, True),
        ("1.0.1", {"serving.engines.vllm": ">=0.20"}, False),
        ("1.1.0", {"serving.engines.vllm": ">=0.20"}, True),
        ("1.0.1", {"summary": "Said better."}, True),
        ("1.0.0", {"summary": "Said better."}, False),
        ("0.9.0", {}, False),
    ],
)
def test_a_version_suffices_or_not(version: str, change: dict[str, Any], *, suffices: bool) -> None:
    comparison = compare(make_contract(), make_contract({"version": version, **change}))
    assert comparison.version_suffices is suffices


def test_contracts_of_different_names_have_no_version_in_common() -> None:
    comparison = compare(make_contract(), make_contract({"name": "example-other"}))
    assert (comparison.required_version, comparison.version_suffices) == (None, None)


def test_a_comparison_is_json() -> None:
    values = compare(make_contract(), make_contract({"planes.low.boundary": 3, "version": "1.1.0"})).as_dict()
    assert json.loads(json.dumps(values)) == values
    assert {key: values[key] for key in ("old", "new", "kind", "required_version", "version_suffices")} == {
        "old": "example-llama@1.0.0",
        "new": "example-llama@1.1.0",
        "kind": "breaking",
        "required_version": "2.0.0",
        "version_suffices": False,
    }
    assert values["changes"][0] == {
        "place": "planes.low",
        "old": "low (boundary 2)",
        "new": "low (boundary 3)",
        "kind": "breaking",
        "reason": "another boundary or state",
    }


def test_a_change_is_one_line() -> None:
    change = Change("drafter.layers", None, 2, Kind.BREAKING, "why")
    assert str(change) == "breaking: drafter.layers: nothing -> 2 (why)"
