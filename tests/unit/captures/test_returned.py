"""Answers of a capture become float32 arrays; what does not fit the protocol is named, never raised further."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.captures.returned import (
    MisfitError,
    find_overlaps,
    last_line,
    read_captured,
    read_token_ids,
    read_values,
)

PLANES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (torch.tensor(PLANES, dtype=torch.bfloat16), "bfloat16"),
        (torch.tensor(PLANES, dtype=torch.float8_e4m3fn), "float8_e4m3fn"),
        (torch.tensor(PLANES, requires_grad=True), "float32"),
        (PLANES.astype(np.float16), "float16"),
        (PLANES.tolist(), "float64"),
    ],
)
def test_values_are_copied_into_float32_with_their_dtype(value: object, dtype: str) -> None:
    values, name = read_values(value)
    assert name == dtype
    assert values.dtype == np.float32
    assert values.shape == PLANES.shape


def test_a_copy_does_not_follow_its_tensor() -> None:
    tensor = torch.zeros(2, 3)
    values, _ = read_values(tensor)
    tensor.add_(1)
    assert not values.any()


@pytest.mark.parametrize("value", ["text", [[1.0], [1.0, 2.0]], {"a": 1}, torch.zeros(2, 2, device="meta")])
def test_values_that_are_no_numbers_are_a_misfit(value: object) -> None:
    with pytest.raises(MisfitError, match="came back where states were due"):
        read_values(value)


@pytest.mark.parametrize("value", [torch.tensor([1, 2]), np.array([1, 2]), (1, 2), [np.int32(1), 2]])
def test_token_ids_are_read_from_any_sequence(value: object) -> None:
    assert read_token_ids(value) == (1, 2)


@pytest.mark.parametrize("value", [None, 5, [1.0, 2.0], "12", torch.tensor([[1, 2]]), [True, False]])
def test_token_ids_that_are_no_flat_integers_are_a_misfit(value: object) -> None:
    with pytest.raises(MisfitError, match="no sequence of integers"):
        read_token_ids(value)


@pytest.mark.parametrize("planes", [PLANES, list(PLANES), tuple(torch.tensor(PLANES)), torch.tensor(PLANES)])
def test_an_array_and_a_list_of_planes_mean_the_same(planes: object) -> None:
    request, problems = read_captured([5, 6, 7], Captured([5, 6, 7], planes))
    assert not problems
    assert request.shapes == ((3, 4), (3, 4))
    np.testing.assert_array_equal(request.planes, PLANES)


def test_a_last_hidden_state_kept_apart_is_the_plane_after_the_others() -> None:
    request, problems = read_captured([5, 6, 7], Captured([5, 6, 7], PLANES, torch.ones(3, 4, dtype=torch.bfloat16)))
    assert not problems
    assert request.shapes == ((3, 4),) * 3
    assert request.dtype == "float32/bfloat16"
    assert request.last_hidden is not None
    np.testing.assert_array_equal(request.planes[-1], request.last_hidden)


@pytest.mark.parametrize(
    ("planes", "told"),
    [
        ([PLANES[0], PLANES[1, :2]], "planes of one request differ in shape: [3, 4], [2, 4]"),
        ([PLANES[0], PLANES[1, :, :3]], "planes of one request differ in shape: [3, 4], [3, 3]"),
        (PLANES[:, None], "planes have the shapes [1, 3, 4], [1, 3, 4]; each must be [tokens, hidden]"),
        (PLANES[0], "planes have the shapes [4], [4], [4]; each must be [tokens, hidden]"),
    ],
)
def test_planes_that_do_not_stack_are_a_problem_and_keep_their_shapes(planes: object, told: str) -> None:
    request, problems = read_captured([5, 6, 7], Captured([5, 6, 7], planes))
    assert [(problem.kind, problem.reason) for problem in problems] == [("ragged", told)]
    assert request.planes.size == 0
    assert len(request.shapes) == len(planes)  # type: ignore[arg-type]


@pytest.mark.parametrize("planes", [None, 3.0, {"low": PLANES}])
def test_planes_that_are_no_array_are_a_misfit(planes: object) -> None:
    with pytest.raises(MisfitError, match="neither an array nor a list of arrays"):
        read_captured([5], Captured([5], planes))


def _overlaps(planes: object) -> tuple[tuple[int, int], ...]:
    return find_overlaps(Captured([], planes))


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_planes_apart_in_one_buffer_do_not_overlap(make: object) -> None:
    buffer = make(PLANES)  # type: ignore[operator]
    assert _overlaps(buffer) == ()
    interleaved = [buffer[:, index] for index in range(3)]
    assert _overlaps(interleaved) == ()


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_the_same_memory_under_two_planes_is_an_overlap(make: object) -> None:
    buffer = make(PLANES)  # type: ignore[operator]
    assert _overlaps([buffer[0], buffer[1], buffer[0]]) == ((0, 2),)
    assert _overlaps([buffer[0, :2], buffer[0, 1:]]) == ((0, 1),)


def test_overlaps_are_told_in_every_width_of_dtype() -> None:
    for dtype in (torch.float8_e4m3fn, torch.bfloat16, torch.float32, torch.float64):
        buffer = torch.tensor(PLANES).to(dtype)
        assert _overlaps([buffer[0], buffer[1]]) == ()
        assert _overlaps([buffer[0], buffer[0].view(3, 4)]) == ((0, 1),)


def test_a_last_hidden_state_in_a_plane_is_an_overlap() -> None:
    buffer = torch.tensor(PLANES)
    assert find_overlaps(Captured([], buffer, buffer[1])) == ((1, 2),)


def test_an_exception_is_one_line() -> None:
    assert last_line(ValueError("first\n\n  last  \n")) == "ValueError: last"
    assert last_line(KeyError()) == "KeyError"
