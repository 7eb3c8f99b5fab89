"""Rows of the Arrow dataset against the files of their states: speculators drops a row whose file does not match."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.formats import HS_CONNECTORS_FP8, SPECULATORS_ARROW, DatasetFormat
from eagle3_contracts.subjects.datasets.formats.speculators_arrow import row_in_name, row_of
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry, Sample
from eagle3_contracts.subjects.datasets.walking import Walk

_ROW_FORMATS = (SPECULATORS_ARROW.id, HS_CONNECTORS_FP8.id)


def check_rows(walk: Walk, chosen: DatasetFormat, neighbours: Neighbours) -> Iterator[Problem]:
    """Yield a problem for rows without a file, files without a row, and a missing Arrow dataset."""
    if chosen.id not in _ROW_FORMATS:
        return
    if neighbours.arrow is None:
        if not neighbours.problems:
            yield Problem(
                "missing",
                "no Arrow dataset beside the states; the loss masks lie in it alone",
                "give the folder that prepare_data wrote, with hidden_states inside it",
            )
        return
    present = {row for file in walk.files if (row := row_in_name(file.path.name)) is not None}
    whole = len(walk.files) > 1 or not present
    absent = [row for row in range(neighbours.arrow.rows) if row not in present] if whole else []
    if absent:
        names = ", ".join(f"hs_{row}.safetensors" for row in absent[:5])
        reason = f"{len(absent)} of {neighbours.arrow.rows} rows have no states: {names}" + (
            ", ..." if absent[5:] else ""
        )
        remedy = "capture these rows, or train with on_missing=generate and a server at hand"
        yield Problem("missing", reason, remedy, Where(file=f"hs_{absent[0]}.safetensors"))
    beyond = sorted(row for row in present if row >= neighbours.arrow.rows)
    if beyond:
        reason = f"belongs to row {beyond[0]}, the Arrow dataset has {neighbours.arrow.rows} ({len(beyond)} such files)"
        yield Problem("missing", reason, "remove states of another dataset", Where(file=f"hs_{beyond[0]}.safetensors"))


def check_row(
    entry: Entry, sample: Sample, neighbours: Neighbours, chosen: DatasetFormat, *, data: bool
) -> Iterator[Problem]:
    """Yield a problem for a file whose name has no row, whose row has no mask, or whose token ids are not the row's."""
    if chosen.id not in _ROW_FORMATS or neighbours.arrow is None:
        return
    place = Where(file=entry.place)
    row = row_of(entry)
    if row is None:
        remedy = "name it hs_{row}.safetensors"
        yield Problem("missing", "its name tells no row of the Arrow dataset, so it has no mask", remedy, place)
        return
    if row >= neighbours.arrow.rows:
        return
    if sample.mask is None:
        yield Problem("missing", f"row {row} of the Arrow dataset has no loss_mask", "prepare the data again", place)
    ids = neighbours.arrow.column("input_ids", row)
    if data and ids is not None and sample.token_ids is not None:
        stored = np.asarray(sample.token_ids.bits).ravel()
        if not np.array_equal(stored, ids.bits):
            unequal = np.flatnonzero(stored[: ids.bits.size] != ids.bits[: stored.size])
            at = int(unequal[0]) if unequal.size else min(stored.size, ids.bits.size)
            yield Problem(
                "missing",
                f"no states for the tokens of row {row}: the file holds {stored.size} other token ids (the row has "
                f"{ids.bits.size}; they differ from token {at} on), and the trainer drops such a sample",
                "capture this row again; the dataset was prepared anew after the capture",
                Where(file=entry.place, token=at),
            )
