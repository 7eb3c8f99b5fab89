"""Defects of captured data that SpecForge 0.2.0's loaders take, or refuse: each one is named by a clause.

Real: OfflineEagle3Dataset, list_local_files, the collator; LocalFeatureStore, FeatureDataLoader, the normalizer of the
data plane. Every file is loaded, in one batch. The tables: defect, what both say of it, the clauses that fail. Not
here: masks and shifts lie in the loader (test_loader.py).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from support.defects import Defect, defect, listen
from support.recordings import Wiring, declared_wiring, judge, make_samples, violated, write_dataset

pytestmark = pytest.mark.peer("specforge")

Record = dict[str, Any]
Check = Callable[[Defect], None]
FORMAT, LONGEST, BAD = "specforge", 256, 1
AUX, LAST = "aux_hidden_state", "hidden_state"


def both(change: Callable[[Tensor], Tensor]) -> Callable[[Record], Record]:
    """Change the auxiliary states and the last ones, [1, T, channels]."""
    return lambda record: record | {key: change(record[key]).contiguous() for key in (AUX, LAST)}


def fed(change: Callable[[Tensor], Tensor]) -> Callable[[Record], Record]:
    """Change the auxiliary states."""
    return lambda record: record | {AUX: change(record[AUX]).contiguous()}


def without(name: str) -> Callable[[Record], Record]:
    return lambda record: {key: value for key, value in record.items() if key != name}


def _poison(states: Tensor) -> Tensor:
    states[0, 3, 5] = torch.nan
    return states


def _longer(states: Tensor) -> Tensor:
    return torch.cat((states, states[:, -1:]), 1)


def _permuted(sound: Wiring) -> Wiring:
    low, mid, high, last = sound.boundaries
    return Wiring((mid, high, low, last), sound.normed)


def _late(sound: Wiring) -> Wiring:
    *fed_ones, last = sound.boundaries
    return Wiring((*(boundary + 1 for boundary in fed_ones), last), sound.normed)


def _not_normed(sound: Wiring) -> Wiring:
    return Wiring(sound.boundaries, normed=False)


WIRINGS: dict[str, Defect] = {
    "planes permuted": defect(_permuted, "silent", "dataset.order"),
    "ids off by one": defect(_late, "silent", "dataset.boundary"),
    "the state before the norm as last plane": defect(_not_normed, "silent", "dataset.final-state"),
}
"""What every sample has."""

ONE_FILE: dict[str, Defect] = {
    "a row of states missing": defect(both(lambda states: states[:, :-1]), "silent", "dataset.rows"),
    "a row of states too many": defect(both(_longer), "silent", "dataset.rows"),
    "NaN": defect(fed(_poison), "silent", "dataset.finite"),
    "token ids of another text": defect(
        lambda record: record | {"input_ids": record["input_ids"].flip(0)}, "silent", "dataset.identity"
    ),
    "a plane missing": defect(fed(lambda states: states[..., 64:]), "raises RuntimeError", "dataset.plane-count"),
    "no batch axis": defect(both(lambda states: states[0]), "silent"),
    "no mask": defect(without("loss_mask"), "raises KeyError", "dataset.schema"),
    "no last state": defect(without(LAST), "raises KeyError", "dataset.schema"),
    "a key more": defect(lambda record: record | {"id": torch.zeros(1)}, "silent"),
    "float16": defect(both(Tensor.half), "silent", "dataset.dtype"),
}
"""What one file has, which is not the longest of its batch."""


@pytest.fixture
def write(contract: Contract, tmp_path: Path) -> Callable[..., list[Path]]:
    def write_files(change: Callable[[Wiring], Wiring] = lambda sound: sound) -> list[Path]:
        samples = make_samples(change(declared_wiring(contract, FORMAT)))
        return write_dataset(tmp_path, FORMAT, samples, "bfloat16")

    return write_files


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], Any]:
    """Give the dataset class and its collator, over all files."""
    preprocessing = import_module("specforge.data.preprocessing")
    collate = import_module("specforge.data.utils").DataCollatorWithPadding()

    def load_all() -> Any:
        files = preprocessing.list_local_files(str(tmp_path))
        dataset = preprocessing.OfflineEagle3Dataset(files, max_len=LONGEST)
        return collate([dataset[index] for index in range(len(files))])

    return load_all


@pytest.fixture
def load_plane(tmp_path: Path) -> Callable[[], Any]:
    """Give the data plane, over all files."""
    below = "specforge.runtime.data_plane"
    reader = import_module(f"{below}.offline_reader").OfflineManifestReader
    store = import_module(f"{below}.feature_store").LocalFeatureStore
    loader = import_module(f"{below}.feature_dataloader").FeatureDataLoader
    data = import_module("specforge.algorithms.eagle3.data")

    def load_all() -> Any:
        refs = reader(str(tmp_path), max_len=LONGEST).read()
        return list(
            loader(
                store(),
                refs=refs,
                batch_size=len(refs),
                per_sample_transform=data.build_offline_normalizer(LONGEST),
                collate_fn=data.build_offline_collator(),
            )
        )

    return load_all


@pytest.fixture
def check(load: Callable[[], Any], load_plane: Callable[[], Any], contract: Contract, tmp_path: Path) -> Check:
    """Demand what a table says: of both loaders, and of the clauses; a defect that is none violates nothing."""

    def check_defect(known: Defect) -> None:
        assert listen(load) == listen(load_plane) == known.said
        found = violated(judge(contract, "dataset", tmp_path, FORMAT))
        assert found >= known.clauses
        assert known.clauses or not found

    return check_defect


@pytest.mark.parametrize("name", WIRINGS)
def test_what_every_sample_has(name: str, write: Callable[..., list[Path]], check: Check) -> None:
    write(WIRINGS[name].make)
    check(WIRINGS[name])


@pytest.mark.parametrize("name", ONE_FILE)
def test_what_one_file_has(name: str, write: Callable[..., list[Path]], check: Check) -> None:
    path = write()[BAD]
    torch.save(ONE_FILE[name].make(torch.load(path, weights_only=True)), path)
    check(ONE_FILE[name])


def test_a_row_too_many_in_the_longest_sample_is_too_much(write: Callable[..., list[Path]], check: Check) -> None:
    """Padding then comes out negative; the same in a shorter sample is taken."""
    path = max(write(), key=lambda file: len(torch.load(file, weights_only=True)["input_ids"]))
    torch.save(both(_longer)(torch.load(path, weights_only=True)), path)
    check(defect(str, "raises RuntimeError", "dataset.rows"))


def test_a_file_that_was_cut_off_is_replaced_by_another(
    write: Callable[..., list[Path]],
    load: Callable[[], Any],
    load_plane: Callable[[], Any],
    contract: Contract,
    tmp_path: Path,
) -> None:
    """The dataset class prints a line and gives the first sample in its place; the data plane raises."""
    path = write()[BAD]
    path.write_bytes(path.read_bytes()[:-400])
    assert (listen(load), listen(load_plane)) == ("prints", "raises OSError")
    first, replaced = load()["input_ids"][:2]
    assert torch.equal(first, replaced)
    assert "dataset.readable" in violated(judge(contract, "dataset", tmp_path, FORMAT))
