"""Sizes of faults of a loader: the project's own on the stage's small datasets."""

from __future__ import annotations

import dataclasses

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.loaders.protocol import Loader
from eagle3_contracts.subjects.loaders.reference import (
    STEPS,
    Example,
    ReferenceLoader,
    Rows,
    make_reference_loader,
    shift_example,
)
from support.museum.exhibits import judge_subject, sum_up
from support.museum.sensitivity.size import Size


def _scaled(contract: Contract, off: float, _: int) -> bool:
    """Let all that is fed be larger by a share of itself."""

    def shift(loader: ReferenceLoader, example: Example) -> Rows:
        rows = shift_example(loader, example)
        return dataclasses.replace(rows, fc_input=rows.fc_input * (1 + off))

    def factory(asked: Contract) -> Loader:
        loader = make_reference_loader(asked, "speculators-v1")
        return dataclasses.replace(loader, steps=dataclasses.replace(STEPS, shift=shift)).as_subject()

    found = judge_subject(contract, Subject("loader", "spoiled:factory", "spoiled", factory))
    return sum_up(found)["loader.values"] == Verdict.FAILED


LOADER_SIZES: tuple[Size, ...] = (
    Size("states scaled by 1 + size on the way", "loader.values", _scaled, 0, 1.0, drawn=False),
)
