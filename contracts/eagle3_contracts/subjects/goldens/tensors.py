"""The tensors of a recording, read from untrusted files: what lies there, and the states of one sequence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, Problem, RecordedSequence
from eagle3_contracts.evidence.drafts import RecordedDrafts
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.safetensors_files import open_safetensors
from eagle3_contracts.subjects.datasets.stored import (
    FLOATS,
    FoundFile,
    StoredTensor,
    UnreadableError,
    widen_bits,
)
from eagle3_contracts.subjects.goldens.kept import (
    DENSE_PARTS,
    TOP_PARTS,
    KeptLogits,
    dense_logits,
    find_kept_fault,
    top_logits,
)

STATES = "states.safetensors"
DRAFTS = "drafts.safetensors"
STATE_PARTS = ("boundaries", "final", *DENSE_PARTS, *TOP_PARTS)
DRAFT_PARTS = ("drafted", "top_ids", "top_logits", "log_sum_exp")

_ROWS = 2

Tensors = Mapping[str, StoredTensor]
"""The tensors of one file: ``NUMBER.PART``."""


def open_tensors(folder: Path, name: str, remedy: str) -> tuple[Tensors, list[Problem]]:
    """Open one file; nothing of it and the reason if it is broken, nothing without a reason if it is not there."""
    path = folder / name
    if not path.is_file():
        return {}, []
    try:
        entry = open_safetensors(FoundFile(path, name, path.suffix, path.stat().st_size))
    except UnreadableError as error:
        return {}, [dataclasses.replace(error.problem, remedy=remedy)]
    except OSError as error:
        return {}, [Problem("corrupt", f"cannot be read ({error.strerror})", remedy, Where(file=name))]
    return {key: value for key, value in entry.values.items() if isinstance(value, StoredTensor)}, []


def describe_sequence(
    item: RecordedSequence, states: Tensors, drafts: Tensors, vocabulary: int, *, values: bool
) -> RecordedSequence:
    """Add what lies on disk of one sequence; ``values``: count what is not finite, and look at kept logits."""
    own, drafted = _parts(states, item.number, STATE_PARTS), _parts(drafts, item.number, DRAFT_PARTS)
    counts = {**_count_nonfinite(own), **{f"drafts {name}": n for name, n in _count_nonfinite(drafted).items()}}
    return dataclasses.replace(
        item,
        states={name: tensor.header for name, tensor in own.items()},
        drafts={name: tensor.header for name, tensor in drafted.items()},
        nonfinite=counts if values else None,
        kept_fault=_find_kept_fault(own, vocabulary) if values else "",
    )


def _find_kept_fault(own: Mapping[str, StoredTensor], vocabulary: int) -> str:
    ids, values = (own.get(part) for part in TOP_PARTS[:2])
    if ids is None or values is None or ids.dtype in FLOATS or values.dtype not in FLOATS:
        return ""
    if ids.bits.ndim != _ROWS or ids.bits.shape != values.bits.shape:
        return ""
    return find_kept_fault(np.asarray(ids.bits), read_floats(values), vocabulary)


def read_floats(tensor: StoredTensor) -> Array:
    """Read a tensor as float32."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.ascontiguousarray(widen_bits(tensor.bits, tensor.dtype), dtype=np.float32)


def read_logits(states: Tensors, number: int) -> KeptLogits:
    """Read the logits of one sequence, in either form."""
    if f"{number}.logits" in states:
        return dense_logits(read_floats(states[f"{number}.logits"]))
    ids, values, total = (states[f"{number}.{part}"] for part in TOP_PARTS)
    return top_logits(np.asarray(ids.bits), read_floats(values), read_floats(total))


def read_drafts(drafts: Tensors, number: int) -> RecordedDrafts:
    """Read the drafts of one sequence."""
    drafted, ids, values, total = (drafts[f"{number}.{part}"] for part in DRAFT_PARTS)
    return RecordedDrafts(_read_whole(drafted), _read_whole(ids), read_floats(values), read_floats(total))


def _read_whole(tensor: StoredTensor) -> npt.NDArray[np.int64]:
    return np.asarray(tensor.bits).astype(np.int64)


def _parts(tensors: Tensors, number: int, names: Iterable[str]) -> dict[str, StoredTensor]:
    return {name: tensors[f"{number}.{name}"] for name in names if f"{number}.{name}" in tensors}


def _count_nonfinite(tensors: Tensors) -> dict[str, int]:
    floats = {name: read_floats(tensor) for name, tensor in tensors.items() if tensor.dtype in FLOATS}
    counts = {name: int(values.size - np.isfinite(values).sum()) for name, values in floats.items()}
    return {name: count for name, count in counts.items() if count}
