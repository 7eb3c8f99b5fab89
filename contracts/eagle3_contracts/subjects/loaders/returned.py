"""What a loader gave at step zero, turned into rows that say where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import STRANGE, Array, Codes, LoadedRows
from eagle3_contracts.subjects.captures.returned import MisfitError, read_values
from eagle3_contracts.subjects.loaders.protocol import StepZero
from eagle3_contracts.subjects.loaders.sentinels import decode_rows

_REMEDY = (
    "give StepZero(fc_input [N, P*H], tokens [N], last_hidden [N, H], mask [N], ...), or all of them with one more "
    "dimension for the sequences of a batch"
)


def read_batch(batch: StepZero, hidden: int, number: int, documents: int) -> LoadedRows:
    """Read batch ``number`` into rows, its documents numbered from ``documents`` on.

    Everything is copied, since a loader may use its buffers again. Raises ``MisfitError`` for what is no step zero.
    """
    fc_input, fc_dtype = _states(batch.fc_input, "fc_input", hidden)
    rows = fc_input.shape[:2]
    blocks = [fc_input.reshape(*rows, fc_input.shape[2] // hidden, hidden)]
    last_dtype = None
    if batch.last_hidden is not None:
        last, last_dtype = _states(batch.last_hidden, "last_hidden", hidden)
        blocks.append(_expect(last, (*rows, hidden), "last_hidden").reshape(*rows, 1, hidden))
    states = np.concatenate(blocks, axis=2)
    flat = states.reshape(-1, states.shape[2], hidden)
    codes = decode_rows(flat)
    sample, plane, position = (_pad(code) if batch.last_hidden is None else code for code in codes)
    mask = None if batch.mask is None else _numbers(batch.mask, "mask", rows, weights=True)
    given = None if batch.documents is None else _numbers(batch.documents, "documents", rows)
    sequence, place = np.meshgrid(np.arange(rows[0]), np.arange(rows[1]), indexing="ij")
    return LoadedRows(
        sample=sample,
        plane=plane,
        position=position,
        tokens=_numbers(batch.tokens, "tokens", rows).ravel(),
        trained=np.ones(rows[0] * rows[1], bool) if mask is None else np.asarray(mask != 0).ravel(),
        documents=_number_documents(sequence if given is None else given, sequence, documents).ravel(),
        batch=np.full(rows[0] * rows[1], number),
        place=place.ravel(),
        amplitude=_amplitude(flat, codes[0], pad=batch.last_hidden is None),
        fc_dtype=fc_dtype,
        last_dtype=last_dtype,
        masked=mask is not None,
        documents_given=given is not None,
        positions=_optional(batch.positions, "positions", rows),
        targets=_optional(batch.targets, "targets", rows),
        vocabulary=None if batch.vocabulary is None else _flags(batch.vocabulary, "vocabulary"),
    )


def _flags(value: Any, name: str) -> npt.NDArray[np.bool_]:
    """Read flags as [V]; whatever is not zero is set."""
    flags = _plain(value, name)
    if flags.ndim != 1:
        raise MisfitError(f"{name} is {list(flags.shape)}, not one flag for each token", _REMEDY)
    return np.asarray(flags != 0, bool)


def _plain(value: Any, name: str) -> npt.NDArray[Any]:
    """Give a tensor or array as an array of finite numbers or flags."""
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = (value.float() if value.is_floating_point() else value).numpy()
        array = np.asarray(value)
    except (AttributeError, TypeError, ValueError, RuntimeError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise MisfitError(f"{name} is a {type(value).__name__}, no array of numbers", _REMEDY)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise MisfitError(f"{name} holds NaN or infinite values", _REMEDY)
    return array


def _states(value: Any, name: str, hidden: int) -> tuple[Array, str]:
    """Read states as [B, N, W], W a multiple of the hidden size, with their dtype."""
    values, dtype = read_values(value)
    if values.ndim not in {2, 3} or values.shape[-1] % hidden or not values.shape[-1]:
        reason = f"{name} is {list(values.shape)}; its last dimension must be a multiple of the hidden size, {hidden}"
        raise MisfitError(reason, _REMEDY)
    return (values if values.ndim == 3 else values[None]), dtype


def _numbers(value: Any, name: str, rows: tuple[int, ...], *, weights: bool = False) -> Codes:
    """Read whole numbers as [B, N]; a last dimension of one is dropped. ``weights``: 1 for whatever is not zero."""
    found = _plain(value, name)
    if not weights and found.dtype.kind == "f" and (found != np.rint(found)).any():
        raise MisfitError(f"{name} holds fractions, where whole numbers belong", _REMEDY)
    numbers = (found != 0 if weights else found).astype(np.int64)
    if numbers.ndim == 3 and numbers.shape[-1] == 1:
        numbers = numbers[..., 0]
    expected: Codes = _expect(numbers if numbers.ndim != 1 else numbers[None], rows, name)
    return expected


def _optional(value: Any, name: str, rows: tuple[int, ...]) -> Codes | None:
    return None if value is None else _numbers(value, name, rows).ravel()


def _expect(values: Any, shape: tuple[int, ...], name: str) -> Any:
    if values.shape != shape:
        reason = f"{name} is {list(values.shape)} beside an fc_input of {shape[0]} x {shape[1]} rows"
        raise MisfitError(reason, _REMEDY)
    return values


def _number_documents(given: Codes, sequence: Codes, first: int) -> Codes:
    """Number documents over all batches; the same number in another sequence is another document."""
    pairs = np.stack([sequence, given], axis=-1).reshape(-1, 2)
    _, numbers = np.unique(pairs, axis=0, return_inverse=True)
    numbered: Codes = np.where(given.ravel() < 0, -1, numbers.ravel() + first)
    return numbered


def _amplitude(flat: Array, sample: Codes, *, pad: bool) -> npt.NDArray[np.float64]:
    found = [
        float(np.abs(flat[sample[:, block] >= 0, block]).mean()) if (sample[:, block] >= 0).any() else np.nan
        for block in range(flat.shape[1])
    ]
    return np.array([*found, np.nan] if pad else found)


def _pad(codes: Codes) -> Codes:
    """Add the column of a last hidden state that is not there."""
    return np.concatenate([codes, np.full((len(codes), 1), STRANGE)], axis=1)


def join_rows(parts: Sequence[LoadedRows]) -> LoadedRows:
    """Put the rows of batches one after the other. Raises ``MisfitError`` where they differ in what they hold."""
    first = parts[0]
    kinds = {
        (part.fed, part.fc_dtype, part.last_dtype, part.positions is None, part.targets is None, part.masked)
        for part in parts
    }
    if len(kinds) > 1:
        raise MisfitError("batches differ in what they hold: width of fc_input, dtypes, or parts given", _REMEDY)
    return LoadedRows(
        sample=np.concatenate([part.sample for part in parts]),
        plane=np.concatenate([part.plane for part in parts]),
        position=np.concatenate([part.position for part in parts]),
        tokens=np.concatenate([part.tokens for part in parts]),
        trained=np.concatenate([part.trained for part in parts]),
        documents=np.concatenate([part.documents for part in parts]),
        batch=np.concatenate([part.batch for part in parts]),
        place=np.concatenate([part.place for part in parts]),
        amplitude=_extreme([part.amplitude for part in parts]),
        fc_dtype=first.fc_dtype,
        last_dtype=first.last_dtype,
        masked=first.masked,
        documents_given=all(part.documents_given for part in parts),
        positions=None if first.positions is None else np.concatenate([_known(part.positions) for part in parts]),
        targets=None if first.targets is None else np.concatenate([_known(part.targets) for part in parts]),
        vocabulary=first.vocabulary,
    )


def _known(values: Codes | None) -> Codes:
    return np.zeros(0, np.int64) if values is None else values


def _extreme(found: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Give, for each block, the amplitude of all batches that is farthest from 1."""
    stacked = np.stack(found)
    away = np.where(np.isnan(stacked), -1.0, np.abs(stacked - 1.0))
    farthest: npt.NDArray[np.float64] = stacked[np.argmax(away, axis=0), np.arange(stacked.shape[1])]
    return farthest
