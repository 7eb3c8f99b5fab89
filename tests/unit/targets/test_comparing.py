"""Planes held against a target: each defect of a capture is nearest to what it really is, and by a wide margin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import Array, Candidate, ReferenceStates, TargetComparison
from eagle3_contracts.findings import Rung
from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16
from eagle3_contracts.subjects.targets import Target, open_target
from eagle3_contracts.subjects.targets.comparing import ROW_CAP, compare_planes, thin
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens


def as_stored(states: Array) -> Array:
    """Round as a bfloat16 file does."""
    return bfloat16_to_float32(float32_to_bfloat16(states))


def nearest(comparison: TargetComparison, plane: int) -> tuple[int, Candidate, float]:
    """Give the shift and candidate nearest to a plane, and the median distance."""
    assert comparison.states is not None
    table = comparison.states.median[:, plane]
    shift, at = np.unravel_index(table.argmin(), table.shape)
    return comparison.states.shifts[shift], comparison.states.candidates[at], float(table[shift, at])


@pytest.fixture(scope="session")
def planes(reference: ReferenceStates) -> Array:
    """The planes of the tiny contract, in order, as stored."""
    return as_stored(reference.boundaries[[2, 4, 5, 8]])


def test_every_boundary_is_recognised(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    every = as_stored(np.concatenate([reference.boundaries, reference.final[None]]))
    comparison = compare_planes(target, tiny, [(tokens, every)])
    expected = [*(Candidate(k) for k in range(8)), Candidate(8, "pre_norm"), Candidate(8, "post_norm")]
    for plane, candidate in enumerate(expected):
        shift, found, distance = nearest(comparison, plane)
        assert (shift, found) == (0, candidate)
        assert distance < 0.003
    assert comparison.rung is Rung.FULL
    assert comparison.tokens == len(tokens)
    assert comparison.notes == ()


def test_a_missing_residual_is_recognised(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    assert reference.branches is not None
    comparison = compare_planes(target, tiny, [(tokens, as_stored(reference.branches))])
    for layer in range(8):
        assert nearest(comparison, layer)[:2] == (0, Candidate(layer + 1, "branch"))


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_a_token_shift_is_recognised(
    target: Target, tiny: Contract, tokens: tuple[int, ...], planes: Array, shift: int
) -> None:
    comparison = compare_planes(target, tiny, [(tokens, np.roll(planes, -shift, axis=1))])
    for plane, boundary in enumerate([2, 4, 5]):
        assert nearest(comparison, plane)[:2] == (shift, Candidate(boundary))


def test_the_neighbours_of_a_right_plane_are_far(
    target: Target, tiny: Contract, tokens: tuple[int, ...], planes: Array
) -> None:
    states = compare_planes(target, tiny, [(tokens, planes)]).states
    assert states is not None
    now = states.median[states.shifts.index(0)]
    for plane, boundary in enumerate([2, 4, 5]):
        right = states.candidates.index(Candidate(boundary))
        assert 3 * now[plane, right] < np.delete(now[plane], right).min()
        assert np.delete(now[plane], right).min() > 0.1
        assert states.p99[states.shifts.index(0), plane, right] >= now[plane, right]


def test_samples_are_pooled_over_tokens_not_over_samples(
    target: Target, tiny: Contract, tokens: tuple[int, ...]
) -> None:
    long, short = tokens[:70], tokens[:9]
    good = target.reference(long).boundaries[[2, 4, 5, 8]]
    bad = target.reference(short).boundaries[[3, 3, 3, 3]]
    comparison = compare_planes(target, tiny, [(long, good), (short, bad), (short, bad)])
    assert comparison.tokens == 88
    assert comparison.states is not None
    assert comparison.states.tokens + comparison.states.sinks == 88
    assert nearest(comparison, 0)[1] == Candidate(2)


def test_final_states_rebuild_the_logits_under_one_reading_only(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    final = as_stored(np.stack([reference.boundaries[8], reference.final, reference.boundaries[7]]))
    comparison = compare_planes(target, tiny, [(tokens, final)])
    found = {(item.plane, item.reading): item for item in comparison.logits}
    right = {(0, "pre_norm"), (1, "post_norm")}
    tolerance = tiny.tolerance["bfloat16"].logprob_max
    for key, item in found.items():
        assert item.logprob_max is not None
        assert item.kl is not None
        assert (item.logprob_max < tolerance / 4) == (key in right)
        assert (item.kl < 1e-3) == (key in right)
    assert len(found) == 9


def test_argmax_agreement_does_not_tell_a_double_norm(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    """What argmax_agreement is worth: a state normed twice keeps most argmaxes, and its logits are far off."""
    comparison = compare_planes(target, tiny, [(tokens, reference.boundaries[8:9])])
    double = next(item for item in comparison.logits if item.reading == "double_norm")
    assert double.argmax_agreement is not None
    assert double.logprob_max is not None
    assert double.argmax_agreement > 0.8
    assert double.logprob_max > 2 * tiny.tolerance["bfloat16"].logprob_max


def test_the_norm_vector_tells_normed_from_not(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    pair = as_stored(np.stack([reference.final, reference.boundaries[8], reference.boundaries[2]]))
    rms = compare_planes(target, tiny, [(tokens, pair)]).norm_vector_rms
    assert rms is not None
    assert rms[0] == pytest.approx(1, abs=0.01)
    assert rms[1] > 2
    assert rms[2] > 1.5


def test_only_the_embedding_plane_is_the_embedding(
    target: Target, tiny: Contract, tokens: tuple[int, ...], reference: ReferenceStates
) -> None:
    distance = compare_planes(target, tiny, [(tokens, as_stored(reference.boundaries))]).embedding_distance
    assert distance is not None
    assert distance[0] == 0
    assert distance[1:].min() > 0.5


@pytest.mark.parametrize(
    ("keep", "gives", "lacks"),
    [
        (("model.norm",), {"norm_vector_rms"}, "embedding"),
        (("embed_tokens",), {"embedding_distance"}, "final norm"),
        (("model.norm", "lm_head"), {"norm_vector_rms", "logits"}, "embedding"),
    ],
)
def test_a_partial_target_gives_its_part_and_says_what_is_left_out(
    cut: Callable[..., Path], tiny: Contract, tokens: tuple[int, ...], planes: Array, keep: Any, gives: Any, lacks: str
) -> None:
    target = open_target(str(cut(*keep)), tiny)
    comparison = compare_planes(target, tiny, [(tokens, planes)])
    values = {part: getattr(comparison, part) for part in ("states", "logits", "embedding_distance", "norm_vector_rms")}
    assert {part for part, value in values.items() if value is not None and len(value)} == gives
    assert comparison.rung is target.rung
    assert any(lacks in note for note in comparison.notes)
    assert any("boundaries were not compared" in note for note in comparison.notes)


def test_norm_and_head_alone_judge_by_the_text(
    cut: Callable[..., Path], tiny: Contract, tokens: tuple[int, ...], planes: Array
) -> None:
    comparison = compare_planes(open_target(str(cut("model.norm", "lm_head")), tiny), tiny, [(tokens, planes)])
    nll = {item.reading: item.text_nll for item in comparison.logits if item.plane == 3}
    assert all(item.logprob_max is None and item.kl is None for item in comparison.logits)
    assert nll["pre_norm"] < 1.0
    assert nll["pre_norm"] < min(nll["post_norm"], nll["double_norm"])


def test_what_does_not_fit_is_left_out_with_a_note(
    target: Target, tiny: Contract, tokens: tuple[int, ...], planes: Array
) -> None:
    samples = [
        (tokens, planes),
        (tokens[:-1], planes),
        (tokens, planes[:, :, :32]),
        (tokens, planes[:2]),
        ((*tokens[:-1], 256), planes),
        ((), planes[:, :0]),
    ]
    comparison = compare_planes(target, tiny, samples)
    assert comparison.tokens == len(tokens)
    said = "\n".join(comparison.notes)
    for number, words in enumerate(
        ["for 79 tokens", "hidden size 64", "2 planes", "256 leave the vocabulary", "no tokens"], 1
    ):
        assert f"sample {number} was not compared" in said
        assert words in said


def test_no_sample_is_no_evidence(target: Target, tiny: Contract) -> None:
    comparison = compare_planes(target, tiny, [])
    assert (comparison.tokens, comparison.states, comparison.logits) == (0, None, ())
    assert "no sample was compared" in comparison.notes


def test_broken_rows_are_infinitely_far(target: Target, tiny: Contract, tokens: tuple[int, ...], planes: Array) -> None:
    broken = planes.copy()
    broken[0] = np.nan
    broken[1] = np.inf
    broken[2] = 0
    comparison = compare_planes(target, tiny, [(tokens, broken)])
    assert comparison.states is not None
    assert np.isinf(comparison.states.median[:, :2]).all()
    assert comparison.states.median[:, 2].min() == pytest.approx(1)
    assert nearest(comparison, 3)[1] == Candidate(8, "pre_norm")
    assert comparison.embedding_distance is not None
    assert np.isinf(comparison.embedding_distance[:2]).all()


def test_long_samples_are_thinned_and_say_so(tiny: Contract) -> None:
    target = open_target(str(embedded_target()), tiny, route="torch")
    tokens = toy_tokens(2 * ROW_CAP)
    planes = target.reference(tokens).boundaries[[2, 4, 5, 8]]
    comparison = compare_planes(target, tiny, [(tokens, planes)])
    assert comparison.tokens == ROW_CAP
    assert any(f"longer than {ROW_CAP}" in note for note in comparison.notes)
    assert nearest(comparison, 1) == (0, Candidate(4), 0.0)
    rows = thin(2 * ROW_CAP)
    assert (rows[0], rows[-1], len(rows)) == (0, 2 * ROW_CAP - 1, ROW_CAP)


def test_the_story_is_told_on_61_layers(tmp_path: Path, tiny: Contract) -> None:
    contract = scale_down(tiny)
    values = contract.target.model_copy(update={"num_hidden_layers": 61})
    contract = contract.model_copy(update={"target": values})
    target = open_target(str(kimi_toy(tmp_path / "toy")), contract, route="torch")
    tokens = toy_tokens(400)
    planes = as_stored(target.reference(tokens).boundaries[[0, 3, 31, 59]])
    comparison = compare_planes(target, contract, [(tokens, planes)])
    assert [nearest(comparison, plane)[1].boundary for plane in range(4)] == [0, 3, 31, 59]
    assert comparison.states is not None
    assert len(comparison.states.candidates) == 61 + 2 + 61
