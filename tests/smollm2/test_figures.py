"""The figures that tolerances and verdicts rest on, measured again on real text (``measure.py`` prints them all)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16, log_softmax, relative_l2, sink_rows
from eagle3_contracts.subjects.targets import hf
from eagle3_contracts.subjects.targets.llama_numpy import forward
from eagle3_contracts.subjects.targets.shape import read_shape
from support.smollm2 import LAYERS, stored_in

States = Callable[[str, tuple[int, ...]], ReferenceStates]


@pytest.fixture(scope="module")
def model(model_path: Path) -> Any:
    """The model in float32, the one that all tests share."""
    return hf.load_model(str(model_path), "float32")


@pytest.fixture(scope="module")
def tokens(texts: list[list[int]]) -> tuple[int, ...]:
    return tuple(texts[0])


@pytest.fixture(scope="module")
def exact(states_of: States, tokens: tuple[int, ...]) -> ReferenceStates:
    return states_of("float32", tokens)


@pytest.fixture(scope="module")
def rough(states_of: States, tokens: tuple[int, ...]) -> ReferenceStates:
    return states_of("bfloat16", tokens)


@pytest.fixture(scope="module")
def kept(exact: ReferenceStates) -> npt.NDArray[np.bool_]:
    """The tokens that are no sinks."""
    return ~sink_rows(exact.boundaries)


def medians(planes: Array, reference: Array, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Give the median relative L2 of each plane from its reference, sinks left out."""
    result: npt.NDArray[np.float64] = np.median(relative_l2(planes, reference)[:, kept], axis=1)
    return result


def logprob_gap(one: Array, other: Array) -> float:
    """Give the largest difference of log-probability over the top 10 of ``one``, median over tokens."""
    top = np.argsort(-one, axis=-1)[:, :10]
    gap = np.take_along_axis(log_softmax(one) - log_softmax(other), top, axis=-1)
    return float(np.median(np.abs(gap).max(axis=-1)))


def test_bfloat16_stays_within_half_of_its_tolerance(
    exact: ReferenceStates, rough: ReferenceStates, kept: npt.NDArray[np.bool_]
) -> None:
    tolerance = stored_in("bfloat16").tolerance_for("bfloat16")
    assert tolerance is not None
    stored = bfloat16_to_float32(float32_to_bfloat16(exact.boundaries))
    assert medians(stored, exact.boundaries, kept).max() < 0.002
    assert 0.002 < medians(rough.boundaries, exact.boundaries, kept).max() <= tolerance.relative_l2_median / 2
    assert logprob_gap(exact.logits, rough.logits) <= tolerance.logprob_max / 2


def test_single_rows_of_a_correct_capture_leave_the_tolerance(exact: ReferenceStates, rough: ReferenceStates) -> None:
    """Which is why a median decides, and no maximum."""
    tolerance = stored_in("bfloat16").tolerance_for("bfloat16")
    assert tolerance is not None
    assert relative_l2(rough.boundaries, exact.boundaries).max() > tolerance.relative_l2_median


def test_neighbours_are_six_tolerances_away(exact: ReferenceStates, kept: npt.NDArray[np.bool_]) -> None:
    """Three times nearer than any rival is what a verdict needs; a correct plane at the tolerance still has that."""
    tolerance = stored_in("bfloat16").tolerance_for("bfloat16")
    assert tolerance is not None
    above = medians(exact.boundaries[1:], exact.boundaries[:-1], kept)
    below = medians(exact.boundaries[:-1], exact.boundaries[1:], kept)
    assert min(above.min(), below.min()) > 6 * tolerance.relative_l2_median


def test_sinks_are_far_above_the_median_and_alike_at_neighbouring_boundaries(exact: ReferenceStates) -> None:
    sinks = sink_rows(exact.boundaries)
    norms = np.linalg.norm(exact.boundaries, axis=-1)
    assert sinks[0]
    assert sinks.mean() < 0.1
    assert norms[12].max() > 100 * np.median(norms[12])
    assert relative_l2(exact.boundaries[5], exact.boundaries[4])[sinks].max() < 0.05


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_of_a_repeated_token_are_equal_at_boundary_0_and_nowhere_else(
    states_of: States, tokens: tuple[int, ...], dtype: str
) -> None:
    states = states_of(dtype, tokens).boundaries
    pairs = [(one, other) for one, other in combinations(range(len(tokens)), 2) if tokens[one] == tokens[other]]
    assert len(pairs) > 50
    shares = [np.mean([np.array_equal(state[one], state[other]) for one, other in pairs]) for state in states]
    assert shares == [1.0] + [0.0] * LAYERS


def test_the_final_norm_weight_tells_normed_rows(exact: ReferenceStates, weights: dict[str, Array]) -> None:
    def rms(rows: Array) -> float:
        return float(np.median(np.sqrt(np.mean(np.square(rows / weights["norm.weight"]), axis=-1))))

    assert 0.99 < rms(exact.final) < 1.01
    assert rms(exact.boundaries[LAYERS]) > 10


@pytest.fixture(scope="module")
def weights(model: Any) -> dict[str, Array]:
    """The dequantised weights, by their names in a checkpoint without ``model.``."""
    return {name.removeprefix("model."): weight.numpy() for name, weight in model.state_dict().items()}


def test_an_independent_float64_forward_agrees_at_every_boundary(
    exact: ReferenceStates, weights: dict[str, Array], tokens: tuple[int, ...], model: Any
) -> None:
    """The numpy route knows nothing of transformers, its hooks or its kernels."""
    states = forward(weights.get, read_shape(model.config.to_dict()), np.array(tokens))
    assert relative_l2(exact.boundaries, states.boundaries.astype(np.float32)).max() < 1e-5
    assert relative_l2(exact.final, states.final.astype(np.float32)).max() < 1e-5
    assert exact.branches is not None
    assert relative_l2(exact.branches, states.branches.astype(np.float32)).max() < 1e-3
    logits = (states.final @ weights["embed_tokens.weight"].T.astype(np.float64)).astype(np.float32)
    assert logprob_gap(logits, exact.logits) < 1e-4
