"""Sizes of faults of a dataset: four dumped samples of 220 tokens of the embedded default, in bfloat16."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.captures import move_boundaries
from eagle3_contracts.faults.injecting.datasets import prepare_dump
from eagle3_contracts.faults.injecting.dumps import Dump
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from support.museum.exhibits import judge_subject, sum_up
from support.museum.sensitivity.size import Caught, Size, pick, stir

if TYPE_CHECKING:
    from torch import Tensor

Spoil = Callable[[Dump, float, int], None]


def _in_dump(clause: str, spoil: Spoil) -> Caught:
    def caught(contract: Contract, size: float, draw: int) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            changed, dump = prepare_dump(contract, Path(folder) / "states", ".pt")
            spoil(dump, size, draw)
            found = judge_subject(changed, Subject("dataset", str(dump.write()), "spoiled"))
            return sum_up(found)[clause] == Verdict.FAILED

    return caught


def _noise(dump: Dump, share: float, draw: int) -> None:
    dump.change_planes(lambda plane: stir(plane, share, draw))


def _noise_last(dump: Dump, share: float, draw: int) -> None:
    dump.change_plane(-1, lambda plane: stir(plane, share, draw))


def _scale(dump: Dump, off: float, _: int) -> None:
    dump.change_planes(lambda plane: plane * (1 + off))


def _rolled(plane: Tensor) -> Tensor:
    return plane.roll(-1, dims=0)


def _shift_rows(dump: Dump, count: float, draw: int) -> None:
    """Put the next token's row into so many places of every plane."""
    places = [(at, row) for at, sample in enumerate(dump.samples) for row in range(1, len(sample.token_ids))]
    for at, row in (places[place] for place in pick(len(places), count, draw)):
        for plane in dump.samples[at].planes:
            plane[row] = _rolled(plane)[row]


def _shift_samples(dump: Dump, count: float, draw: int) -> None:
    for at in pick(len(dump.samples), count, draw):
        dump.samples[at].planes = [_rolled(plane) for plane in dump.samples[at].planes]


def _blank(dump: Dump, count: float, draw: int) -> None:
    """Empty so many rows of one plane of one sample."""
    plane = dump.samples[0].planes[1]
    plane[pick(len(plane), count, draw)] = 0


def _embed(dump: Dump, share: float, draw: int) -> None:
    """Put the embedding output into a share of the first plane's rows."""
    embedded = move_boundaries(dump.capture, lambda _: 0)
    for sample in dump.samples:
        rows = pick(len(sample.token_ids), round(share * len(sample.token_ids)), draw)
        sample.planes[0][rows] = embedded([sample.token_ids.tolist()])[0].planes[0][rows]


def _norm(dump: Dump, share: float, _: int) -> None:
    """Move the last plane a share of the way to what the final norm makes of it."""
    final = dump.capture.planes[-1].model_copy(update={"state": "post_norm"})
    normed = dataclasses.replace(dump.capture, planes=(final,))
    for sample in dump.samples:
        sample.planes[-1] = sample.planes[-1].lerp(normed([sample.token_ids.tolist()])[0].planes[0], share)


def _lend(dump: Dump, share: float, draw: int) -> None:
    """Put rows of the longest sample into a share of another's rows, place by place."""
    _, *others = sorted(dump.samples, key=lambda sample: -len(sample.token_ids))
    lender = next(sample for sample in dump.samples if sample is not others[0])
    size = len(others[0].token_ids)
    rows = pick(size, round(share * size), draw)
    for own, lent in zip(others[0].planes, lender.planes, strict=True):
        own[rows] = lent[rows]


def _size(what: str, clause: str, spoil: Spoil, high: float, *, whole: bool = False, drawn: bool = True) -> Size:
    return Size(what, f"dataset.{clause}", _in_dump(f"dataset.{clause}", spoil), 0, high, whole, drawn)


DATASET_SIZES: tuple[Size, ...] = (
    _size("noise on every plane, share of each row's norm", "boundary", _noise, 0.1),
    _size("noise on the last plane alone", "final-state", _noise_last, 0.1),
    _size("all planes scaled by 1 + size", "boundary", _scale, 0.06, drawn=False),
    _size("all planes scaled by 1 + size", "norm-range", _scale, 1.0, drawn=False),
    _size("rows of 220 that are the next token's", "token-shift", _shift_rows, 40, whole=True),
    _size("rows of 220 of one plane that are zeros", "zero-rows", _blank, 8, whole=True),
    _size("samples of 4 that are shifted by one token", "token-shift", _shift_samples, 1, whole=True),
    _size("share of a plane's rows that are the embedding output", "embedding-repeats", _embed, 1.0),
    _size("share of a plane's rows that are the embedding output", "embedding-rows", _embed, 1.0),
    _size("share of the way from the last state to the normed one", "norm-vector", _norm, 1.0, drawn=False),
    _size("share of one sample's rows that are another sample's", "identity", _lend, 1.0),
)
