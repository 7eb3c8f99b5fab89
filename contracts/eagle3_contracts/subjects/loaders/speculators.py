"""The loaders of speculators: files in 0.3 and 0.4 (``Eagle3SampleFileDataset``), Arrow datasets from 0.7 on.

The real dataset and collate functions run; what is ours is only which samples share a pack: in order, as many as fit.
A script that sets another ``standardize_fn``, transform or length makes its own factory of ``load_packs``::

    def factory(contract):
        return load_packs(
            lambda folder: Eagle3SampleFileDataset(2048, datapath=str(folder), standardize_fn=mine),
            create_collate_fn(2048), dataset_format="speculators-v1", max_length=2048,
        )
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects.loaders.protocol import Loader, StepZero
from eagle3_contracts.subjects.named_code import NeedsError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

MAX_LENGTH = 64

Batch = dict[str, Any]


def open_speculators_loader(contract: Contract, data: ModuleType | None = None) -> Loader:
    """Give the installed version's loader, as its training script makes it by default.

    ``data``: the module ``speculators.train.data``, where it is not the installed one. Raises ``NeedsError``.
    """
    module = data or _import("speculators.train.data")
    if hasattr(module, "Eagle3SampleFileDataset"):
        return open_sample_files(module)
    if hasattr(module, "CollateFn"):
        return open_arrow_dataset(contract, module)
    reason = "speculators 0.5 and 0.6 collate in a way of their own, which this version does not drive"
    raise NeedsError(reason, "name a factory that wraps their dataset and collate function (loaders.speculators)")


def open_sample_files(data: ModuleType, **options: Any) -> Loader:
    """Give the loader of 0.3 and 0.4; ``options`` go to ``Eagle3SampleFileDataset`` (``standardize_fn``, transform)."""

    def open_dataset(folder: Path) -> Any:
        files = sorted(str(path) for path in folder.glob("*.pt"))  # its own walk gives them in no order
        return data.Eagle3SampleFileDataset(max_len=MAX_LENGTH, file_list=files, **options)

    standardize = getattr(options.get("standardize_fn"), "__name__", "")
    dataset_format = "speculators-v0" if standardize == "standardize_data_v0" else "speculators-v1"
    return load_packs(open_dataset, data.create_collate_fn(MAX_LENGTH), dataset_format, MAX_LENGTH)


def open_arrow_dataset(contract: Contract, data: ModuleType) -> Loader:
    """Give the loader of 0.7 to 0.9: ``ArrowDataset``, ``CollateFn``, ``shift_batch``; a missing sample raises."""
    dtype = getattr(_import("torch"), contract.drafter.dtype or contract.target.dtype)
    shift = _import("speculators.models.eagle3.data").shift_batch
    planes = len(contract.stored_planes("speculators-arrow")) - 1
    collate = data.CollateFn(MAX_LENGTH, contract.target.hidden_size, planes, dtype, shift)

    def open_dataset(folder: Path) -> Any:
        return data.ArrowDataset(MAX_LENGTH, str(folder), on_missing="raise", hidden_states_dtype=dtype)

    return load_packs(open_dataset, collate, "speculators-arrow", MAX_LENGTH)


def load_packs(
    open_dataset: Callable[[Path], Any], collate: Callable[[list[Any]], Batch], dataset_format: str, max_length: int
) -> Loader:
    """Give a loader that packs a dataset's samples, in order, up to ``max_length`` rows by ``approx_lengths``."""

    def read(folder: Path) -> Iterator[StepZero]:
        dataset = open_dataset(folder)
        for pack in _list_packs(dataset.approx_lengths, max_length):
            yield read_step_zero(collate([dataset[index] for index in pack]))

    return Loader(read, dataset_format, max_length)


def read_step_zero(batch: Batch) -> StepZero:
    """Name the tensors of a collated batch as the protocol does."""
    documents = batch.get("document_ids")
    return StepZero(
        fc_input=batch["hidden_states"],
        tokens=batch["input_ids"],
        last_hidden=batch["verifier_last_hidden_states"],
        mask=batch["loss_mask"],
        positions=batch["position_ids"],
        documents=_spread_lengths(batch) if documents is None else documents,
        left_out=int(batch.get("error_records", 0)),
    )


def _spread_lengths(batch: Batch) -> Any:
    """Give document ids as the model of 0.3 and 0.4 makes them of ``lengths`` (eagle3/attention.py)."""
    import torch

    rows = batch["input_ids"].shape[1]
    lengths = batch["lengths"]
    documents = torch.repeat_interleave(torch.arange(len(lengths)), lengths)[:rows]
    return torch.cat([documents, torch.full((rows - len(documents),), -1)])[None]


def _list_packs(lengths: list[int], longest: int) -> list[list[int]]:
    packs: list[list[int]] = [[]]
    filled = 0
    for index, length in enumerate(lengths):
        if packs[-1] and filled + length > longest:
            packs.append([])
            filled = 0
        packs[-1].append(index)
        filled += length
    return packs


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        missing = getattr(error, "name", None) or name
        reason = f"the loader of speculators cannot be imported: {missing} is not installed, or is another version"
        raise NeedsError(reason, "install speculators with all that it needs, or name a factory of your own") from error
