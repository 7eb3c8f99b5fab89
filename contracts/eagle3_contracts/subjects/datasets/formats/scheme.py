"""What a dataset format is: where its keys lie, how its tensors must relate, and how they become planes.

A format fits a file by structure: the kinds and shapes of its tensors and how their widths relate. The same key
means different things in different tools (``hidden_states``: a list, a stack, the last state, the auxiliary
states), so a key's presence alone never decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import FLOATS, Entry, Sample, StoredPlane, StoredTensor, Value


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the contract leads one to expect, where structure alone leaves two readings; empty without a contract.

    ``hidden``: the target's hidden size. ``planes``: how many are stored. ``final_stored``: the last of them is a
    final state.
    """

    hidden: int | None = None
    planes: int | None = None
    final_stored: bool = False


class States(Protocol):
    """How a format keeps its hidden states. ``axes``: the keys that hold them, and their axes without a batch axis."""

    @property
    def axes(self) -> Mapping[str, int]:
        """Give the keys of the states and how many axes each tensor has."""
        ...

    def mismatch(self, entry: Entry, expected: Expectation) -> str | None:
        """Say why the entry's states cannot be of this format; None if they can."""
        ...

    def split(self, entry: Entry, expected: Expectation) -> tuple[StoredPlane, ...]:
        """Give the planes in disk order, auxiliary planes before the last state; only for a fitting entry."""
        ...


class BatchAxis(Enum):
    """How many leading axes of length 1 a tool's loader takes: none may be there, one may, or one must."""

    REFUSED = (0,)
    DROPPED = (0, 1)
    NEEDED = (1,)


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """One tool's format.

    ``written_by``: tool and versions. ``container``: torch or safetensors. ``listed``: a file holds a list of
    samples. ``mask``: its key, None if files hold none; ``mask_required``: a file without it is incomplete.
    ``batch_axis``: of the states. Where none may be there, one is a defect: speculators slices ``hidden_states[:-1]``
    and gets nothing. Where one is dropped, a second one stays: SpecForge 0.2.0 then cuts nothing to max_len, and its
    collator raises. ``token_axis``: of token ids and mask. SpecForge 0.2.0 (``process_data``) adds one itself, and its
    collator raises on two; AngelSlim 0.5.0's collator unpacks ``B, n = intensors.shape`` and raises without one.
    ``extra_axes``: axes of further tensors that the tool writes.
    """

    id: str
    written_by: str
    container: str
    suffixes: tuple[str, ...]
    states: States
    tokens: str = "input_ids"
    mask: str | None = "loss_mask"
    mask_required: bool = True
    listed: bool = False
    batch_axis: BatchAxis = BatchAxis.REFUSED
    token_axis: BatchAxis = BatchAxis.REFUSED
    extra_axes: Mapping[str, int] = field(default_factory=dict)

    def mismatch(self, entry: Entry, expected: Expectation) -> str | None:
        """Say why an entry cannot be of this format, by structure; None if it can."""
        if entry.container != self.container:
            return f"is kept in {self.container} files"
        if entry.listed is not self.listed:
            return "keeps a list of samples in a file" if self.listed else "keeps one sample in a file"
        return self.states.mismatch(entry, expected)

    def missing_keys(self, entry: Entry) -> tuple[str, ...]:
        """Name the required keys that the entry lacks, or holds as something other than a tensor."""
        required = (self.tokens, self.mask if self.mask and self.mask_required else None)
        return tuple(key for key in required if key and not isinstance(entry.values.get(key), StoredTensor))

    def marks(self, entry: Entry, neighbours: Neighbours) -> tuple[str, ...]:  # noqa: ARG002 - for formats with more
        """Name what speaks for this format beside structure: the file's name, its neighbours, further keys."""
        return (f"named {entry.file.suffix}",) if entry.file.suffix in self.suffixes else ()

    def declared(self, entry: Entry) -> Mapping[str, Any]:  # noqa: ARG002 - for formats that declare something
        """Give what the entry says of itself."""
        return {}

    def token_ids(self, entry: Entry) -> StoredTensor | None:
        """Give the token ids, unread, as the tool's loader sees them."""
        return self._beside(entry.values.get(self.tokens))

    def loss_mask(self, entry: Entry, neighbours: Neighbours) -> StoredTensor | None:  # noqa: ARG002 - see Arrow
        """Give the loss mask, unread, as the tool's loader sees it; None if there is none."""
        return self._beside(entry.values.get(self.mask)) if self.mask else None

    def _beside(self, value: Value | None) -> StoredTensor | None:
        if not isinstance(value, StoredTensor):
            return None
        return value if self.token_axis is BatchAxis.REFUSED else value.squeezed(1)

    def read(self, entry: Entry, neighbours: Neighbours, expected: Expectation) -> Sample:
        """Read a fitting entry as a sample; no tensor data of states is touched."""
        tokens = self.token_ids(entry)
        planes = self.states.split(entry, expected)
        length = tokens.shape[0] if tokens is not None and tokens.shape else planes[0].rows
        axes = {self.tokens: 1, self.mask or self.tokens: 1, **self.states.axes, **self.extra_axes}
        facts = [(key, fact) for key, value in entry.values.items() if (fact := describe(value, axes.get(key), length))]
        mask = self.loss_mask(entry, neighbours)
        stated = tuple(sorted(facts))
        return Sample(entry.place, planes, tokens, mask, stated, self.declared(entry), problems=self._batched(entry))

    def _batched(self, entry: Entry) -> tuple[Problem, ...]:
        """Say which tensors have an axis that the tool's loader does not take, or lack one that it needs."""
        told = self.token_axis is BatchAxis.REFUSED  # by the record of the sample, as for every format
        beside = {} if told else {key: 1 for key in (self.tokens, self.mask) if key}
        taken = [(self.states.axes, self.batch_axis), (beside, self.token_axis)]
        return tuple(
            _axes_problem(entry, key, tensor, axes, batch)
            for keys, batch in taken
            for key, axes in keys.items()
            for tensor in _first_tensor(entry.values.get(key))
            if _is_odd(len(tensor.shape) - axes, batch)
        )


def _is_odd(surplus: int, batch: BatchAxis) -> bool:
    """Tell whether there are more axes than a loader takes, or too few where it needs one more."""
    return max(surplus, 0) not in batch.value


def _axes_problem(entry: Entry, key: str, tensor: StoredTensor, axes: int, batch: BatchAxis) -> Problem:
    besides = {
        BatchAxis.REFUSED: "",
        BatchAxis.DROPPED: " and one of length 1 in front",
        BatchAxis.NEEDED: " after one of length 1",
    }
    expected = f"{axes} {'axis' if axes == 1 else 'axes'}{besides[batch]}"
    remedy = "with one axis of length 1 in front" if batch is BatchAxis.NEEDED else "without a batch axis"
    reason = f"{key} has shape {list(tensor.shape)}, expected {expected}, which is what its loader takes"
    return Problem("corrupt", reason, f"store one sequence in a sample, {remedy}", Where(file=entry.place))


def _first_tensor(value: Value | None) -> tuple[StoredTensor, ...]:
    """Give the tensor that a key holds, or the first of its list; nothing for what is no tensor."""
    if isinstance(value, tuple):
        return value[:1]
    return (value,) if isinstance(value, StoredTensor) else ()


def describe(value: Value, axes: int | None, length: int) -> str:
    """Give the header facts of one value with T in place of the length (T-1 where a row is missing)."""
    if isinstance(value, tuple):
        texts = [describe(item, axes, length) for item in value]
        return f"{len(texts)} x {texts[0]}" if len(set(texts)) == 1 else "; ".join(texts)
    if not isinstance(value, StoredTensor):
        return ""
    if axes is None or not axes <= len(value.shape):
        return f"{value.dtype} of {len(value.shape)} axes"
    sizes = [str(size) for size in value.shape]
    time = len(value.shape) - axes
    surplus = value.shape[time] - length
    sizes[time] = f"T{surplus:+d}" if surplus else "T"
    return f"{value.dtype} [{', '.join(sizes)}]"


def find_floats(entry: Entry, key: str, axes: int) -> StoredTensor | str:
    """Give a key's tensor of floats without its batch axis; else say in words why the format is not this."""
    value = entry.values.get(key)
    if value is None:
        return f"needs {key}"
    if not isinstance(value, StoredTensor):
        return f"keeps {key} as one tensor, here it is a {'list' if isinstance(value, tuple) else 'plain value'}"
    if value.dtype not in FLOATS:
        return f"keeps states in {key}, here it holds {value.dtype}"
    tensor = value.squeezed(axes)
    if tensor.bits.ndim != axes:
        return f"keeps {key} with {axes} axes, here its shape is {list(value.shape)}"
    return tensor
