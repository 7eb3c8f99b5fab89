"""What a capture gave back, turned into evidence: arrays in float32, and every misfit as a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, CapturedRequest, Problem
from eagle3_contracts.subjects.named_code import last_line

_SHAPE_REMEDY = "give planes as [planes, tokens, hidden], or a list of [tokens, hidden], without a batch dimension"


class MisfitError(Exception):
    """Something in a capture's answer that is not what the protocol says; becomes a ``Problem``."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(reason)


def read_values(value: Any) -> tuple[Array, str]:
    """Copy a tensor or array into float32, with the torch name of the dtype it had. Raises ``MisfitError``."""
    try:
        if hasattr(value, "detach"):
            tensor = value.detach().cpu()
            return np.array(tensor.float().numpy(), np.float32), str(tensor.dtype).removeprefix("torch.")
        array = np.asarray(value)
        return np.array(array, np.float32), array.dtype.name
    except (TypeError, ValueError, RuntimeError) as error:
        reason = f"a {type(value).__name__} came back where states were due: {last_line(error)}"
        raise MisfitError(reason, "give torch tensors or numpy arrays of floating-point numbers") from None


def read_token_ids(value: Any) -> tuple[int, ...]:
    """Copy token ids into a tuple of ints. Raises ``MisfitError`` for anything but one sequence of integers."""
    values = value.tolist() if hasattr(value, "tolist") else value
    try:
        ids = tuple(values)
    except TypeError:
        ids = (None,)
    if any(isinstance(item, bool) or not hasattr(item, "__index__") for item in ids):
        reason = f"token_ids is {str(value)[:60]!r}, no sequence of integers"
        raise MisfitError(reason, "give token_ids as one flat sequence of ints for each request")
    return tuple(int(item) for item in ids)


def read_captured(given: Sequence[int], captured: Any) -> tuple[CapturedRequest, tuple[Problem, ...]]:
    """Read one ``Captured``; planes that are ragged or not two-dimensional are kept as ``shapes`` only."""
    read = [read_values(part) for part in list_planes(captured)]
    apart = getattr(captured, "last_hidden", None) is not None
    shapes = tuple(values.shape for values, _ in read)
    problem = _shape_problem(shapes)
    request = CapturedRequest(
        given=tuple(given),
        token_ids=read_token_ids(captured.token_ids),
        planes=np.zeros((0, 0, 0), np.float32) if problem or not read else np.stack([values for values, _ in read]),
        dtype="/".join(dict.fromkeys(name for _, name in read)) or "none",
        shapes=shapes,
        last_hidden=read[-1][0] if apart else None,
    )
    return request, (problem,) if problem else ()


def list_planes(captured: Any) -> list[Any]:
    """Give the planes of an answer one by one, as they lie in memory; a last hidden state kept apart comes last."""
    last = getattr(captured, "last_hidden", None)
    return split_planes(captured.planes) + ([] if last is None else [last])


def split_planes(planes: Any) -> list[Any]:
    """Give the planes one by one, as views of what came back."""
    if isinstance(planes, list | tuple):
        return list(planes)
    if not getattr(planes, "ndim", 0):
        raise MisfitError(f"planes is a {type(planes).__name__}, neither an array nor a list of arrays", _SHAPE_REMEDY)
    return [planes[index] for index in range(len(planes))]


def _shape_problem(shapes: tuple[tuple[int, ...], ...]) -> Problem | None:
    """Say why planes do not stack, or None if they do."""
    told = ", ".join(str(list(shape)) for shape in shapes)
    if any(len(shape) != 2 for shape in shapes):
        return Problem("ragged", f"planes have the shapes {told}; each must be [tokens, hidden]", _SHAPE_REMEDY)
    if len(set(shapes)) > 1:
        reason = f"planes of one request differ in shape: {told}"
        return Problem("ragged", reason, "capture every plane for all tokens, in the target's hidden size")
    return None


def find_overlaps(captured: Any) -> tuple[tuple[int, int], ...]:
    """Name the pairs of an answer's planes that lie on common memory, element upon element.

    Views that interleave in one buffer ([tokens, planes, hidden] transposed) share no element and are no
    overlap. Addresses only are compared; nothing is read, so tensors on a GPU do too.
    """
    views = [_addresses(part) for part in list_planes(captured)]
    return tuple(
        (first, second)
        for (first, one), (second, other) in combinations(enumerate(views), 2)
        if one is not None and other is not None and np.shares_memory(one, other)
    )


@dataclass(frozen=True, slots=True)
class _Pointer:
    """The layout of a tensor in memory, as numpy's array interface states it."""

    __array_interface__: dict[str, Any]


def _addresses(value: Any) -> npt.NDArray[Any] | None:
    """Give an array at a value's addresses, whose elements must not be read; None if it has no fixed ones."""
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "data_ptr") or value.numel() == 0:
        return None
    size = value.element_size()
    interface = {
        "version": 3,
        "data": (value.data_ptr(), True),
        "shape": tuple(value.shape),
        "strides": tuple(step * size for step in value.stride()),
        "typestr": f"|V{size}",
    }
    return np.asarray(_Pointer(interface))
