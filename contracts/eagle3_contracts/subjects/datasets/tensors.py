"""Torch values turned into stored tensors: the same memory, seen as numpy bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.stored import (
    BIT_TYPES,
    FoundFile,
    OpaqueValue,
    StoredTensor,
    UnreadableError,
    Value,
)
from eagle3_contracts.subjects.datasets.walking import printable

if TYPE_CHECKING:
    import torch

_SLACK = 1 << 20
"""Bytes by which a tensor may exceed its file: one stored as a view that repeats its elements (``expand``)."""


def to_value(value: Any, found: FoundFile, place: str, key: str) -> Value:
    """Turn one loaded value into what readers use: tensors, lists of tensors, plain values; the rest opaque.

    Raises ``UnreadableError`` for a tensor that claims far more than the file holds.
    """
    import torch

    where = Where(file=place, tensor=printable(key[:200]))
    if isinstance(value, torch.Tensor):
        return _to_stored(value, found, where)
    if isinstance(value, list | tuple) and value and all(isinstance(item, torch.Tensor) for item in value):
        stored = [_to_stored(item, found, where) for item in value]
        tensors = tuple(item for item in stored if isinstance(item, StoredTensor))
        return tensors if len(tensors) == len(stored) else OpaqueValue("list of tensors of unusual kinds")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        kinds = sorted({type(item).__name__ for item in value[:100]})
        return OpaqueValue(f"{type(value).__name__} of {len(value)} {', '.join(kinds) or 'items'}")
    return OpaqueValue(type(value).__name__)


def _to_stored(tensor: torch.Tensor, found: FoundFile, where: Where) -> Value:
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in BIT_TYPES or tensor.layout is not torch.strided or tensor.device.type != "cpu":
        return OpaqueValue(f"{dtype} tensor of an unusual kind ({tensor.layout}, {tensor.device})")
    claimed = tensor.numel() * tensor.element_size()
    held = tensor.untyped_storage().nbytes()
    if claimed > held + _SLACK:
        raise UnreadableError(
            "corrupt",
            f"a tensor of shape {tuple(tensor.shape)} claims {claimed} bytes over a storage of {held}",
            f"write {found.name} again with contiguous tensors",
            where,
        )
    plain = tensor.detach()
    if dtype == "bfloat16":
        return StoredTensor(dtype, plain.view(torch.int16).numpy().view(np.uint16))
    if dtype.startswith("float8"):
        return StoredTensor(dtype, plain.view(torch.uint8).numpy())
    return StoredTensor(dtype, plain.numpy())
