"""The three ways in which tools keep hidden states: planes side by side plus a last state, a list, a stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.formats.scheme import Expectation, find_floats
from eagle3_contracts.subjects.datasets.stored import (
    FLOAT8,
    FLOATS,
    Entry,
    StoredPlane,
    StoredTensor,
    UnreadableError,
)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Auxiliary planes concatenated in one tensor [T, k*H], the last state [T, H] in another.

    ``layouts``: (auxiliary key, last key), by tool version; an auxiliary key of None: the last state alone.
    ``may_repeat_last``: some versions keep the last state as the final block of the auxiliary tensor too; it is
    taken for that when the contract stores exactly so many planes, the last of them is a final state, and both
    copies are the same bit by bit; otherwise it is a plane too many, lest a state that trainers read goes unseen.
    """

    layouts: tuple[tuple[str | None, str], ...]
    may_repeat_last: bool = False

    @property
    def axes(self) -> Mapping[str, int]:
        """Give the keys of the states: two axes each."""
        return {key: 2 for layout in self.layouts for key in layout if key}

    def mismatch(self, entry: Entry, expected: Expectation) -> str | None:
        """Say why no layout fits: a key, its kind or shape, or widths that do not relate."""
        reasons = [reason for reason, _, _ in self._tries(entry, expected)]
        return None if None in reasons else reasons[0]

    def split(self, entry: Entry, expected: Expectation) -> tuple[StoredPlane, ...]:
        """Cut the auxiliary tensor into planes as wide as the last state, which comes last."""
        tries = self._tries(entry, expected)
        auxiliary, last = next((auxiliary, last) for reason, auxiliary, last in tries if reason is None)
        final = StoredPlane(last.dtype, last.bits)
        if auxiliary is None:
            return (final,)
        width = plane_width(auxiliary.shape[1], last.shape[1], expected) or last.shape[1]
        count = auxiliary.shape[1] // width
        blocks = [auxiliary.bits[:, index * width : (index + 1) * width] for index in range(count)]
        planes = tuple(StoredPlane(auxiliary.dtype, block) for block in blocks)
        due = self.may_repeat_last and expected.final_stored and count == expected.planes
        return planes if due and _is_repeated(planes[-1], final) else (*planes, final)

    def _tries(
        self, entry: Entry, expected: Expectation
    ) -> Iterator[tuple[str | None, StoredTensor | None, StoredTensor]]:
        """Yield each layout's outcome: why it does not fit (None if it does), then its two tensors."""
        nothing = StoredTensor("float32", np.empty((0, 0), np.float32))
        for auxiliary_key, last_key in self.layouts:
            last = find_floats(entry, last_key, 2)
            if isinstance(last, str):
                yield last, None, nothing
                continue
            if auxiliary_key is None:
                others = [key for key in self.axes if key != last_key and key in entry.values]
                yield (f"has {others[0]} beside {last_key}" if others else None), None, last
                continue
            auxiliary = find_floats(entry, auxiliary_key, 2)
            if isinstance(auxiliary, str):
                yield auxiliary, None, nothing
            elif plane_width(auxiliary.shape[1], last.shape[1], expected) is None:
                yield (
                    (
                        f"keeps planes of the last state's width side by side in {auxiliary_key}; here {auxiliary_key} "
                        f"is {auxiliary.shape[1]} wide and {last_key} {last.shape[1]}"
                    ),
                    None,
                    nothing,
                )
            else:
                yield None, auxiliary, last


def _is_repeated(block: StoredPlane, final: StoredPlane) -> bool:
    """Tell whether the last block is the last state itself, value by value (a NaN is equal to itself here)."""
    same = np.array_equal(block.bits, final.bits, equal_nan=block.bits.dtype.kind == "f")
    return block.dtype == final.dtype and bool(same)


def plane_width(auxiliary: int, last: int, expected: Expectation) -> int | None:
    """Tell how wide one plane is: as wide as the last state, else as wide as the contract's hidden size.

    The contract's width is preferred only where it gives the number of planes that is declared and the last
    state's width does not (a last state of the wrong width). None: the widths do not relate.
    """
    by_last = auxiliary // last if last and auxiliary % last == 0 else 0
    by_hidden = auxiliary // expected.hidden if expected.hidden and auxiliary % expected.hidden == 0 else 0
    if by_hidden and expected.planes == by_hidden + 1 and expected.planes not in {by_last, by_last + 1}:
        return expected.hidden if auxiliary > last else None
    if by_last:
        return last
    return expected.hidden if by_hidden and auxiliary > last else None


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of planes [T, H]."""

    key: str

    @property
    def axes(self) -> Mapping[str, int]:
        """Give the key of the states: two axes for each tensor of the list."""
        return {self.key: 2}

    def mismatch(self, entry: Entry, expected: Expectation) -> str | None:  # noqa: ARG002 - the interface of States
        """Say why the entry holds no list of planes."""
        value = entry.values.get(self.key)
        if value is None:
            return f"needs {self.key}"
        if not isinstance(value, tuple):
            return f"keeps {self.key} as a list of planes, here it is a {'tensor' if _is_tensor(value) else 'value'}"
        for index, item in enumerate(value):
            if item.dtype not in FLOATS or item.squeezed(2).bits.ndim != 2:
                return f"keeps planes [T, H] in {self.key}, here item {index} is {item.dtype} {list(item.shape)}"
        return None

    def split(self, entry: Entry, expected: Expectation) -> tuple[StoredPlane, ...]:  # noqa: ARG002 - see mismatch
        """Give the list's planes in its order."""
        value = entry.values[self.key]
        planes = [item.squeezed(2) for item in value] if isinstance(value, tuple) else []
        return tuple(StoredPlane(plane.dtype, plane.bits) for plane in planes)


@dataclass(frozen=True, slots=True)
class Stacked:
    """Planes stacked in one tensor [T, planes, H], the last one the verifier's final state.

    ``scales``: the key of factors [T, 1, 1] of 8-bit states; None for formats that keep no 8-bit states.
    """

    key: str
    tokens: str
    scales: str | None = None

    @property
    def axes(self) -> Mapping[str, int]:
        """Give the keys of the states: three axes each."""
        return {self.key: 3} | ({self.scales: 3} if self.scales else {})

    def mismatch(self, entry: Entry, expected: Expectation) -> str | None:  # noqa: ARG002 - the interface of States
        """Say why the entry holds no stack of planes of this kind."""
        stack = find_floats(entry, self.key, 3)
        if isinstance(stack, str):
            return stack
        quantised = stack.dtype in FLOAT8
        if quantised is not (self.scales is not None):
            return f"keeps {'8-bit' if self.scales else 'unquantised'} states, here {self.key} is {stack.dtype}"
        tokens = entry.values.get(self.tokens)
        count = tokens.squeezed(1).shape[0] if isinstance(tokens, StoredTensor) and tokens.shape else -1
        if stack.shape[1] == count != stack.shape[0]:
            return f"keeps {self.key} as [tokens, planes, hidden], here tokens are the second axis: {list(stack.shape)}"
        return None

    def split(self, entry: Entry, expected: Expectation) -> tuple[StoredPlane, ...]:  # noqa: ARG002 - see mismatch
        """Give the stack's planes in its order, with their scales."""
        stack = find_floats(entry, self.key, 3)
        if isinstance(stack, str):
            return ()
        scales = self._read_scales(entry, stack.shape[0])
        return tuple(StoredPlane(stack.dtype, stack.bits[:, index], scales) for index in range(stack.shape[1]))

    def _read_scales(self, entry: Entry, rows: int) -> npt.NDArray[np.float32] | None:
        value = entry.values.get(self.scales) if self.scales else None
        if not isinstance(value, StoredTensor):
            return None
        if value.dtype != "float32" or value.bits.size != rows:
            reason = f"{value.dtype} {list(value.shape)}, expected one float32 factor for each of {rows} rows"
            where = Where(file=entry.place, tensor=self.scales)
            raise UnreadableError("corrupt", reason, "capture this sample again", where)
        return np.asarray(value.bits).reshape(rows)


def _is_tensor(value: object) -> bool:
    return isinstance(value, StoredTensor)
