"""How records add up: evidence of two parts of a dataset is the evidence of both together.

``merge_evidence`` is associative, so that files can be read by many workers in any grouping; order is kept,
since the first few places of a finding are the first in the dataset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, TypeVar

from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord, Tally
from eagle3_contracts.subjects.datasets.repeats import merge_digests

Key = TypeVar("Key")


def merge_tallies(first: Mapping[Key, Tally], second: Mapping[Key, Tally]) -> dict[Key, Tally]:
    """Add tallies key by key."""
    merged = dict(first)
    for key, tally in second.items():
        merged[key] = merged[key].merge(tally) if key in merged else tally
    return merged


def merge_planes(first: PlaneRecord, second: PlaneRecord) -> PlaneRecord:
    """Add the records of one plane."""
    return PlaneRecord(
        rows=first.rows + second.rows,
        nonfinite=first.nonfinite.merge(second.nonfinite),
        zero=first.zero.merge(second.zero),
        norms=first.norms.merge(second.norms),
        repeat_pairs=first.repeat_pairs + second.repeat_pairs,
        repeat_equal=first.repeat_equal + second.repeat_equal,
        row_digests=merge_digests(first.row_digests, second.row_digests),
    )


def merge_declared(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Join what files declare; differing values are kept side by side, as a sorted tuple without doubles."""
    merged: dict[str, Any] = dict(first)
    for key, value in second.items():
        if key not in merged or merged[key] == value:
            merged[key] = value
            continue
        values = {
            repr(item): item for one in (merged[key], value) for item in (one if isinstance(one, tuple) else (one,))
        }
        merged[key] = tuple(values[text] for text in sorted(values))
    return merged


def merge_evidence(first: DatasetEvidence, second: DatasetEvidence) -> DatasetEvidence:
    """Give the evidence of both parts of one dataset; associative, and ``first`` comes first in every list."""
    highest = second if _maximum(second) > _maximum(first) else first
    return dataclasses.replace(
        first,
        format=first.format or second.format,
        files_found=first.files_found + second.files_found,
        files_read=first.files_read + second.files_read,
        samples=first.samples + second.samples,
        signatures=merge_tallies(first.signatures, second.signatures),
        planes=tuple(
            merge_planes(one or PlaneRecord(), two or PlaneRecord())
            for one, two in zip_longest(first.planes, second.planes)
        ),
        tokens_below_zero=first.tokens_below_zero.merge(second.tokens_below_zero),
        token_maximum=highest.token_maximum,
        token_maximum_where=highest.token_maximum_where,
        mask_other=first.mask_other.merge(second.mask_other),
        mask_all_zero=first.mask_all_zero.merge(second.mask_all_zero),
        mask_all_one=first.mask_all_one.merge(second.mask_all_one),
        identical_planes=merge_tallies(first.identical_planes, second.identical_planes),
        token_digests=merge_tallies(first.token_digests, second.token_digests),
        state_digests=merge_tallies(first.state_digests, second.state_digests),
        lengths=first.lengths.merge(second.lengths),
        comparison=first.comparison or second.comparison,
        recaptured=first.recaptured + second.recaptured,
        strangers=first.strangers + second.strangers,
        problems=first.problems + second.problems,
        notes=tuple(dict.fromkeys(first.notes + second.notes)),
        declared=merge_declared(first.declared, second.declared),
    )


def merge_all(records: Iterable[DatasetEvidence], empty: DatasetEvidence) -> DatasetEvidence:
    """Merge many records, pairs of equal weight first: a hundred thousand files cost n log n and not n squared."""
    stack: list[tuple[int, DatasetEvidence]] = []
    for item in records:
        weight, record = 1, item
        while stack and stack[-1][0] == weight:
            record = merge_evidence(stack.pop()[1], record)
            weight *= 2
        stack.append((weight, record))
    merged = empty
    for _, record in stack:
        merged = merge_evidence(merged, record)
    return merged


def _maximum(evidence: DatasetEvidence) -> float:
    return float("-inf") if evidence.token_maximum is None else evidence.token_maximum
