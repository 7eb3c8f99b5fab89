"""Distances against the plain definition, and sinks left out of them and counted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.evidence import Candidate, ReferenceStates
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets.distances import SHIFTS, StateDistances, candidates, find_sinks


def make_reference(seed: int, tokens: int, layers: int = 3, hidden: int = 8) -> ReferenceStates:
    draw = np.random.default_rng(seed)

    def states(*size: int) -> np.ndarray:
        return draw.standard_normal((*size, tokens, hidden)).astype(np.float32)

    return ReferenceStates(np.arange(tokens), states(layers + 1), states(), states(), states(layers))


def plain_median(planes: np.ndarray, reference: ReferenceStates, sinks: np.ndarray) -> np.ndarray:
    """The definition, one token at a time: [S, P, C], the lower of two middle values."""
    table = np.empty((len(SHIFTS), len(planes), len(list(candidates(reference)))))
    for s, shift in enumerate(SHIFTS):
        for p, plane in enumerate(planes):
            for c, (_, states) in enumerate(candidates(reference)):
                values = sorted(
                    float(relative_l2(plane[t], states[t + shift]))
                    for t in range(len(sinks))
                    if 0 <= t + shift < len(sinks) and not sinks[t + shift]
                )
                table[s, p, c] = values[(len(values) - 1) // 2] if values else np.nan
    return table


@given(st.integers(0, 1000), st.integers(3, 12))
def test_medians_are_those_of_the_definition(seed: int, tokens: int) -> None:
    reference = make_reference(seed, tokens)
    planes = np.random.default_rng(seed + 1).standard_normal((2, tokens, 8)).astype(np.float32)
    distances = StateDistances()
    distances.add(reference, planes, np.arange(tokens))
    found = distances.result().median
    np.testing.assert_allclose(found, plain_median(planes, reference, find_sinks(reference)), rtol=1e-5)


def with_sink(reference: ReferenceStates, token: int, boundary: int, factor: float) -> None:
    reference.boundaries[boundary, token] *= factor


def test_a_sink_is_left_out_counted_and_shown_apart() -> None:
    reference = make_reference(1, 40)
    with_sink(reference, 0, 2, 300.0)
    planes = reference.boundaries[[2]].copy()
    planes[0, 0] = 0
    distances = StateDistances()
    distances.add(reference, planes, np.arange(40))
    result = distances.result()
    assert (result.tokens, result.sinks) == (39, 1)
    at = result.candidates.index(Candidate(2))
    assert result.p99[result.shifts.index(0), 0, at] == 0
    assert result.sink_median is not None
    assert result.sink_median[0, at] == 1


def test_the_sink_is_the_targets_row_at_every_shift() -> None:
    reference = make_reference(2, 30)
    planes = np.roll(reference.boundaries[[1]], 1, axis=1)
    for token in (10, 14, 18):
        with_sink(reference, token, 1, 300.0)
        planes[0, token + 1] = 0  # what stands beside that token at shift -1
    distances = StateDistances()
    distances.add(reference, planes, np.arange(30))
    result = distances.result()
    assert result.p99[result.shifts.index(-1), 0, result.candidates.index(Candidate(1))] == 0


def test_where_most_tokens_stand_out_none_is_a_sink() -> None:
    reference = make_reference(3, 9, layers=4)
    for boundary, tokens in enumerate([(0, 1), (2, 3), (4, 5), (6,)]):
        for token in tokens:
            with_sink(reference, token, boundary, 300.0)
    assert not find_sinks(reference).any()


def test_a_sequence_of_sinks_and_nothing_else_has_no_median() -> None:
    reference = make_reference(4, 1)
    distances = StateDistances()
    distances.add(reference, reference.boundaries[[1]], np.arange(1))
    result = distances.result()
    assert result.tokens == 1
    assert np.isnan(result.median[result.shifts.index(2)]).all()
    assert result.median[result.shifts.index(0), 0, 1] == 0


def test_candidates_name_every_state_once() -> None:
    named = [candidate for candidate, _ in candidates(make_reference(5, 4))]
    expected = [Candidate(0), Candidate(1), Candidate(2), Candidate(3, "pre_norm"), Candidate(3, "post_norm")]
    assert named[:5] == expected
    assert named[5:] == [Candidate(k, "branch") for k in (1, 2, 3)]
