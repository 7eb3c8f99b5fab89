"""Faulty loaders: the project's own one with a single step done wrong."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.datasets import store_embedding
from eagle3_contracts.subjects.loaders.protocol import Factory, StepZero
from eagle3_contracts.subjects.loaders.reference import (
    STEPS,
    Example,
    ReferenceLoader,
    Rows,
    cut_example,
    find_defect,
    make_reference_loader,
    pack_rows,
    read_files,
    shift_example,
)

if TYPE_CHECKING:
    from torch import Tensor

Spoil = Callable[[ReferenceLoader], ReferenceLoader]


def inject_loader(fault_id: str, contract: Contract) -> tuple[Contract, Factory]:
    """Give the contract that a faulty loader is held against, and the loader's factory."""
    spoil = LOADER_INJECTIONS[fault_id]
    contract, dataset_format = _start(fault_id, contract)
    return contract, lambda asked: spoil(make_reference_loader(asked, dataset_format)).as_subject()


def sound_loader(fault_id: str, contract: Contract) -> tuple[Contract, Factory]:
    """Give what a faulty loader starts from."""
    contract, dataset_format = _start(fault_id, contract)
    return contract, lambda asked: make_reference_loader(asked, dataset_format).as_subject()


def _start(fault_id: str, contract: Contract) -> tuple[Contract, str]:
    if fault_id == "loader-all-planes-but-last":
        contract = store_embedding(contract)
    return contract, "speculators-arrow" if fault_id == "loader-tokens-uncompared" else "speculators-v1"


def _step(**steps: Any) -> Spoil:
    """Replace steps."""
    return lambda loader: dataclasses.replace(loader, steps=dataclasses.replace(STEPS, **steps))


def _shifted(change: Callable[[Example, Rows], dict[str, Any]]) -> Spoil:
    """Change parts of the rows after the shift."""

    def shift(loader: ReferenceLoader, example: Example) -> Rows:
        rows = shift_example(loader, example)
        return dataclasses.replace(rows, **change(example, rows))

    return _step(shift=shift)


def _packed(change: Callable[[ReferenceLoader, StepZero], dict[str, Any]]) -> Spoil:
    """Change parts of a batch after packing."""

    def pack(loader: ReferenceLoader, waiting: Sequence[Rows]) -> StepZero:
        batch = pack_rows(loader, waiting)
        return dataclasses.replace(batch, **change(loader, batch))

    return _step(pack=pack)


def _later(values: Tensor, steps: int) -> Tensor:
    """Give values from a later row on, zeros at the end."""
    import torch

    return torch.cat([values[steps:], torch.zeros_like(values[:steps])])


def _raise(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    del folder
    raise AttributeError(f"{type(loader).__name__!r} object has no attribute 'start_file_idx'")


def _average(loader: ReferenceLoader, example: Example) -> Rows:
    first, second = loader.fed[:2]
    mixed = (example.planes[first] + example.planes[second]) / 2
    return shift_example(loader, dataclasses.replace(example, planes={**example.planes, first: mixed}))


def _shift_one_plane(loader: ReferenceLoader, example: Example) -> Rows:
    first = loader.fed[0]
    moved = {**example.planes, first: _later(example.planes[first], 1)}
    return shift_example(loader, dataclasses.replace(example, planes=moved))


def _keep_final(loader: ReferenceLoader, example: Example) -> Rows:
    final = example.planes[loader.last or loader.stored[-1]]
    return dataclasses.replace(shift_example(loader, example), last_hidden=final[:-1])


def _shift_mask(loader: ReferenceLoader, example: Example) -> Rows:
    return shift_example(loader, dataclasses.replace(example, mask=_later(example.mask, 1)))


def _take_last(loader: ReferenceLoader) -> ReferenceLoader:
    return dataclasses.replace(loader, last=loader.fed[-1])


def _cut_in_front(loader: ReferenceLoader, example: Example) -> Example:
    planes = {name: plane[-loader.max_length :] for name, plane in example.planes.items()}
    return dataclasses.replace(cut_example(loader, example), planes=planes)


def _drop_last(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    yield from list(read_files(loader, folder))[:3]


def _ignore(*words: str) -> Spoil:
    """Let pass what the inspection says, if it says one of some words."""

    def inspect(loader: ReferenceLoader, example: Example) -> str:
        reason = find_defect(loader, example)
        return "" if any(word in reason for word in words) else reason

    return _step(inspect=inspect)


def _zero_nan(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    for example in read_files(loader, folder):
        planes = {name: plane.nan_to_num(0.0, 0.0, 0.0) for name, plane in example.planes.items()}
        yield dataclasses.replace(example, planes=planes)


def _fill_up(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    import torch

    for example in read_files(loader, folder):
        rows = len(example.tokens)
        planes = {
            name: torch.cat([plane, torch.zeros_like(plane[:1])])[:rows] for name, plane in example.planes.items()
        }
        yield dataclasses.replace(example, planes=planes)


def _instead(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    """Read every file; for one that cannot be read give the first, and say so."""
    paths = sorted(folder.glob("data_*.pt"))
    found = {example.name: example for example in _quietly(loader, folder)}
    for path in paths:
        if path.name not in found:
            warnings.warn(f"ERROR Failed to load {path.name}", stacklevel=2)
        yield found.get(path.name, found[paths[0].name])


def _quietly(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(read_files(loader, folder))
    yield from found


def _write_back(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    import torch

    for example in read_files(loader, folder):
        record = torch.load(folder / example.name, weights_only=True)
        record["loss_mask"][-1] = 0
        torch.save(record, folder / example.name)
        yield example


def _train_all(loader: ReferenceLoader, example: Example) -> Rows:
    rows = shift_example(loader, example)
    return dataclasses.replace(rows, mask=example.mask[1:])


def _pad_with_ones(loader: ReferenceLoader, batch: StepZero) -> dict[str, Any]:
    del loader
    return {"mask": batch.mask + (batch.documents < 0)}


def _count_on(loader: ReferenceLoader, batch: StepZero) -> dict[str, Any]:
    import torch

    del batch
    return {"positions": torch.arange(loader.max_length)}


LOADER_INJECTIONS: dict[str, Spoil] = {
    "loader-attribute-unset": _step(open=_raise),
    "loader-all-planes-but-last": lambda loader: dataclasses.replace(loader, fed=loader.stored[:-1]),
    "loader-planes-permuted": lambda loader: dataclasses.replace(loader, fed=loader.fed[::-1]),
    "loader-planes-averaged": _step(shift=_average),
    "loader-one-plane-shifted": _step(shift=_shift_one_plane),
    "loader-wrong-last-plane": _take_last,
    "loader-tokens-not-shifted": _shifted(lambda example, _: {"tokens": example.tokens[:-1]}),
    "loader-tokens-shifted-twice": _shifted(lambda _, rows: {"tokens": _later(rows.tokens, 1)}),
    "loader-targets-not-shifted": _step(shift=_keep_final),
    "loader-mask-shifted-twice": _step(shift=_shift_mask),
    "loader-mask-all-zero": _shifted(lambda _, rows: {"mask": rows.mask * 0}),
    "loader-positions-run-on": _packed(_count_on),
    "loader-documents-joined": _packed(lambda _, batch: {"documents": batch.documents.clamp(max=0)}),
    "loader-padding-trained": _packed(_pad_with_ones),
    "loader-states-cut-in-front": _step(cut=_cut_in_front),
    "loader-last-sample-dropped": _step(open=_drop_last),
    "loader-cast-to-float16": _packed(lambda _, batch: {"fc_input": batch.fc_input.half()}),
    "loader-scales-left-out": _packed(lambda _, batch: {"fc_input": batch.fc_input * 5.96}),
    "loader-nan-unchecked": _ignore("not finite"),
    "loader-nan-to-zero": _step(open=_zero_nan),
    "loader-rows-filled-up": _step(open=_fill_up),
    "loader-rows-uncounted": _ignore("rows of states"),
    "loader-tokens-uncompared": _ignore("other token ids"),
    "loader-first-sample-instead": _step(open=_instead),
    "loader-silent-about-files": _step(open=_quietly),
    "loader-mask-written-back": _step(open=_write_back),
    "loader-vocabulary-ignored": _step(shift=_train_all),
}
