"""Rebuilt logits against the plain definition, and the choice of planes that are rebuilt."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.numerics import log_softmax
from eagle3_contracts.subjects.targets import Target
from eagle3_contracts.subjects.targets.rebuilding import LOGIT_ROWS, TOP, RebuiltLogits, choose_planes


def plain(found: np.ndarray, expected: np.ndarray, tokens: tuple[int, ...]) -> tuple[float, float, float]:
    """logprob_max, kl and text_nll by their definition, one token at a time."""
    own, theirs = log_softmax(found), log_softmax(expected)
    largest, divergence, surprise = [], [], []
    for t in range(len(tokens)):
        top = np.argsort(theirs[t])[-TOP:]
        largest.append(max(abs(theirs[t][top] - own[t][top])))
        divergence.append(sum(np.exp(theirs[t]) * (theirs[t] - own[t])))
        if t + 1 < len(tokens):
            surprise.append(-own[t][tokens[t + 1]])
    return float(np.median(largest)), float(np.mean(divergence)), float(np.mean(surprise))


@pytest.mark.parametrize("block", [1 << 23, 700])
def test_figures_are_those_of_the_definition(
    target: Target,
    reference: ReferenceStates,
    tokens: tuple[int, ...],
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("eagle3_contracts.subjects.targets.rebuilding._BLOCK", block)
    plane = reference.boundaries[7]
    logits = RebuiltLogits(target, [0], 256)
    logits.add(reference.token_ids, plane[None], reference, np.arange(len(tokens)))
    readings = {item.reading: item for item in logits.result()}
    once = target.final_norm(plane)
    states = {"post_norm": plane, "pre_norm": once, "double_norm": target.final_norm(once)}
    for reading, item in readings.items():
        expected = plain(target.logits(states[reading]), reference.logits, tokens)
        assert (item.logprob_max, item.kl, item.text_nll) == pytest.approx(expected, rel=1e-6)


def test_a_single_token_has_no_next_one(target: Target) -> None:
    reference = target.reference([5])
    logits = RebuiltLogits(target, [0], 256)
    logits.add(reference.token_ids, reference.boundaries[8:], reference, np.arange(1))
    first = logits.result()[0]
    assert np.isnan(first.text_nll)
    assert first.logprob_max == pytest.approx(0, abs=1e-5)


def test_many_rows_are_thinned(target: Target) -> None:
    tokens = list(range(256)) * 3
    reference = target.reference(tokens)
    logits = RebuiltLogits(target, [0], 256)
    logits.add(reference.token_ids, reference.boundaries[8:], reference, np.arange(len(tokens)))
    assert 0 < len(logits._pools[0, "pre_norm"].differences[0]) <= LOGIT_ROWS


def planes_of(contract: Contract, **target: int) -> Contract:
    values = contract.model_dump(mode="json", by_alias=True)
    values["target"] |= target
    return Contract.model_validate_json(json.dumps(values))


def test_all_planes_are_rebuilt_where_that_is_cheap(tiny: Contract) -> None:
    assert choose_planes(tiny, tiny.stored_planes(), 4, 100) == (0, 1, 2, 3)


def test_a_large_vocabulary_leaves_the_final_planes(altered: Callable[..., Contract]) -> None:
    large = altered(vocab_size=10_000_000)
    assert choose_planes(large, large.stored_planes(), 4, 100) == (3,)
    assert choose_planes(large, large.stored_planes()[::-1], 4, 100) == (0,)
    assert choose_planes(large, large.stored_planes()[:3], 3, 100) == (2,)
    assert choose_planes(large, large.stored_planes(), 5, 100) == (4,)


def test_the_plane_that_targets_come_from_is_rebuilt_too(altered: Callable[..., Contract]) -> None:
    large = altered(vocab_size=10_000_000)
    story = large.model_copy(update={"drafter": large.drafter.model_copy(update={"last_hidden": "mid"})})
    assert choose_planes(story, story.stored_planes()[:3], 3, 100) == (1,)
