"""The loaders of SpecForge 0.2.0: ``OfflineEagle3Dataset`` with its collator, and the data plane that replaces it.

The real dataset, reader, store, collator and ``TargetHead.preprocess`` run, batches of two. A script that is
configured otherwise makes its own factory of ``load_padded``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects.loaders.protocol import Loader, StepZero
from eagle3_contracts.subjects.named_code import NeedsError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

MAX_LENGTH = 32
BATCH_SIZE = 2

Batch = dict[str, Any]


def open_specforge_loader(contract: Contract) -> Loader:
    """Give ``OfflineEagle3Dataset`` as its training script makes it. Raises ``NeedsError``."""
    del contract
    preprocessing = _import("specforge.data.preprocessing")
    collate = _import("specforge.data.utils").DataCollatorWithPadding()

    def open_batches(folder: Path) -> Iterator[Batch]:
        files = preprocessing.list_local_files(str(folder))
        dataset = preprocessing.OfflineEagle3Dataset(files, max_len=MAX_LENGTH)
        for start in range(0, len(files), BATCH_SIZE):
            yield collate([dataset[index] for index in range(start, min(start + BATCH_SIZE, len(files)))])

    return load_padded(open_batches, MAX_LENGTH)


def open_data_plane_loader(contract: Contract) -> Loader:
    """Give ``OfflineManifestReader``, ``LocalFeatureStore`` and ``FeatureDataLoader``. Raises ``NeedsError``."""
    del contract
    plane = "specforge.runtime.data_plane"
    reader = _import(f"{plane}.offline_reader").OfflineManifestReader
    store = _import(f"{plane}.feature_store").LocalFeatureStore
    loader = _import(f"{plane}.feature_dataloader").FeatureDataLoader
    data = _import("specforge.algorithms.eagle3.data")

    def open_batches(folder: Path) -> Iterator[Batch]:
        batches = loader(
            store(),
            refs=reader(str(folder), max_len=MAX_LENGTH).read(),
            batch_size=BATCH_SIZE,
            per_sample_transform=data.build_offline_normalizer(MAX_LENGTH),
            collate_fn=data.build_offline_collator(),
        )
        yield from (batch.tensors for batch in batches)

    return load_padded(open_batches, MAX_LENGTH)


def load_padded(open_batches: Callable[[Path], Iterable[Batch]], max_length: int | None) -> Loader:
    """Give a loader of padded batches, shifted as the target head shifts them before it computes targets."""
    head = _import("specforge.modeling.target.target_head").TargetHead

    def read(folder: Path) -> Iterator[StepZero]:
        for batch in open_batches(folder):
            yield read_step_zero(batch, head.preprocess)

    return Loader(read, "specforge", max_length)


def read_step_zero(batch: Batch, preprocess: Callable[..., tuple[Any, Any, Any]]) -> StepZero:
    """Shift a batch and name its tensors as the protocol does; ``preprocess`` asks nothing of its head."""
    import torch

    tokens, last_hidden, mask = preprocess(None, batch["input_ids"], batch["target"], batch["loss_mask"])
    attended = batch["attention_mask"]
    sequence = torch.arange(len(attended))[:, None].expand_as(attended)
    return StepZero(
        fc_input=batch["hidden_state"],
        tokens=tokens,
        last_hidden=last_hidden,
        mask=mask,
        positions=batch.get("position_ids"),
        documents=torch.where(attended > 0, sequence, -1),
    )


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        missing = getattr(error, "name", None) or name
        reason = f"the loader of SpecForge cannot be imported: {missing} is not installed, or is another version"
        raise NeedsError(reason, "install specforge with all that it needs, or name a factory of your own") from error
