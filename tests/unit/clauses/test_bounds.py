"""The bounds lie far from what the embedded target measures: every figure that they cite is measured anew."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.clauses import bounds
from eagle3_contracts.clauses.norm_states import read_norm_state
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION, embedded_target, golden_root
from eagle3_contracts.evidence import TargetComparison
from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects.targets import Target, open_target
from eagle3_contracts.subjects.targets.comparing import compare_planes
from support.judging.evidence import sound_dataset

PRE_NORM, POST_NORM = 8, 9


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="module")
def target(contract: Contract) -> Target:
    return open_target(str(embedded_target()), contract)


@pytest.fixture(scope="module")
def texts() -> list[list[int]]:
    manifest = json.loads((golden_root() / NAME / VERSION / "manifest.json").read_text(encoding="utf-8"))
    return [item["token_ids"] for item in manifest["sequences"] if item["kind"] == "text" and item["length"] > 20]


@pytest.fixture(scope="module")
def planes(target: Target, texts: list[list[int]]) -> list[np.ndarray[Any, Any]]:
    """Give every state of every text as bfloat16 keeps it: boundaries 0 to 8 (before the norm), and after the norm."""
    states = [target.reference(text) for text in texts]
    stacked = [np.concatenate([item.boundaries, item.final[None]]) for item in states]
    return [bfloat16_to_float32(float32_to_bfloat16(np.ascontiguousarray(item, np.float32))) for item in stacked]


@pytest.fixture(scope="module")
def comparison(target: Target, contract: Contract, texts: Any, planes: Any) -> TargetComparison:
    return compare_planes(target, contract, list(zip(texts, planes, strict=True)))


def test_every_boundary_is_nearest_to_itself_by_far(comparison: TargetComparison, contract: Contract) -> None:
    states = comparison.states
    assert states is not None
    own = states.median[states.shifts.index(0)]
    tolerance = contract.tolerance["bfloat16"].relative_l2_median
    for index in range(POST_NORM + 1):
        near, far = np.sort(own[index])[:2]
        assert near <= tolerance / 10
        assert far >= max(bounds.SEPARATION * tolerance, 0.2)
        assert np.sort(states.p99[2, index])[0] < bounds.UNLIKE / 10


def test_unrelated_states_are_unlike(target: Target, planes: Any, texts: Any, contract: Contract) -> None:
    one, other = texts[0], texts[1]
    size = min(len(one), len(other))
    states = compare_planes(target, contract, [(one[:size], planes[1][:, :size])]).states
    assert states is not None
    assert states.median[:, 1:].min() > bounds.UNLIKE


def test_only_the_norm_state_after_the_norm_reads_as_such(comparison: TargetComparison) -> None:
    values = comparison.norm_vector_rms
    assert values is not None
    assert read_norm_state(float(values[POST_NORM])) == "post_norm"
    assert read_norm_state(float(values[PRE_NORM])) == "pre_norm"
    assert abs(values[POST_NORM] - 1) < 0.002
    assert values[PRE_NORM] > 1.5 * bounds.NOT_NORMED[1]


def test_repeated_tokens_are_equal_at_boundary_0_alone(planes: Any, texts: Any) -> None:
    for boundary in range(POST_NORM + 1):
        pairs = equal = 0
        for text, states in zip(texts, planes, strict=True):
            for place, token in enumerate(text):
                first = text.index(token)
                if first < place:
                    pairs += 1
                    equal += bool((states[boundary, place] == states[boundary, first]).all())
        assert pairs >= 5 * bounds.LEAST_PAIRS
        assert equal == (pairs if boundary == 0 else 0)


@pytest.mark.parametrize("rung", ["norm and head", "full target"])
def test_the_final_state_is_decided_on_either_rung(
    rung: str, target: Target, texts: Any, contract: Contract, planes: Any
) -> None:
    stored = [item[[2, 4, 5, PRE_NORM]] for item in planes]
    found = compare_planes(target, contract, list(zip(texts, stored, strict=True)))
    if rung == "norm and head":
        logits = tuple(type(item)(item.plane, item.reading, item.text_nll) for item in found.logits)
        found = TargetComparison(found.rung, found.tokens, logits=logits, norm_vector_rms=found.norm_vector_rms)
    findings = judge_clause(clause("dataset.final-state"), contract, sound_dataset(comparison=found))
    assert [str(item.verdict) for item in findings] == ["passed"]


def test_readings_of_an_even_norm_are_too_near_for_the_text_alone(comparison: TargetComparison) -> None:
    nll = {item.reading: item.text_nll for item in comparison.logits if item.plane == PRE_NORM}
    assert nll["double_norm"] - nll["pre_norm"] < bounds.NLL_MARGIN < math.log(256) - nll["pre_norm"]


def test_rows_run_twice_differ_by_less_than_the_row_bound(contract: Contract, texts: Any) -> None:
    from eagle3_contracts.subjects.captures.embedded import open_embedded_capture

    capture = open_embedded_capture(contract)
    alone = [capture([text])[0].planes.float().numpy() for text in texts]
    for text, before, captured in zip(texts, alone, capture(texts), strict=True):
        after = captured.planes.float().numpy()
        distance = np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)
        assert len(text) == distance.shape[1]
        assert distance.max() <= contract.tolerance["bfloat16"].relative_l2_median
