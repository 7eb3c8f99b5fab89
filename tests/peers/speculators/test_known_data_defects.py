"""Defects of captured data that speculators' loaders are known to take, or to refuse: each one is named by a clause.

Real: ArrowDataset, CollateFn, shift_batch of 0.9.0 as installed; Eagle3SampleFileDataset, create_collate_fn of the
wheel of 0.4.0. Every file is loaded and all are collated into one pack. The tables: defect, what the tool says of it,
the clauses that fail. Not here: masks and shifts are not in the data but in the loader (test_loader.py,
test_training.py); a mask written to in place is SpecForge's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from eagle3_contracts.contract import Contract
from support.defects import Defect, Tensors, defect, listen
from support.recordings import Wiring, declared_wiring, judge, make_samples, violated, write_dataset

pytestmark = pytest.mark.peer("speculators")

Change = Callable[[Tensor], Tensor]
BAD = 1
"""The file that is spoilt where one is; others lie before and after it."""


def late(sound: Wiring) -> Wiring:
    """Capture every plane but the last one boundary too late, as 0.4's default ids do."""
    *fed, last = sound.boundaries
    return Wiring((*(boundary + 1 for boundary in fed), last), sound.normed)


def permuted(sound: Wiring) -> Wiring:
    low, mid, high, last = sound.boundaries
    return Wiring((mid, high, low, last), sound.normed)


def normed(sound: Wiring) -> Wiring:
    return Wiring(sound.boundaries, normed=True)


def states(change: Change) -> Callable[[Tensors], Tensors]:
    """Change the states of a file, [T, planes, H]."""
    return lambda tensors: tensors | {"hidden_states": change(tensors["hidden_states"]).contiguous()}


def _poison(hidden: Tensor) -> Tensor:
    hidden[3, 0, 5] = torch.nan
    return hidden


def _cast(dtype: torch.dtype) -> Change:
    return lambda hidden: hidden.to(dtype)


def _other_tokens(tensors: Tensors) -> Tensors:
    return tensors | {"token_ids": tensors["token_ids"].flip(0)}


def _narrow_tokens(tensors: Tensors) -> Tensors:
    return tensors | {"token_ids": tensors["token_ids"].int()}


def _without(name: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {key: tensor for key, tensor in tensors.items() if key != name}


def _with_more(tensors: Tensors) -> Tensors:
    return tensors | {"request_id": torch.zeros(1)}


WIRINGS: dict[str, Defect] = {
    "planes permuted": defect(permuted, "silent", "dataset.order"),
    "ids off by one": defect(late, "silent", "dataset.boundary"),
    "the state after the norm as last plane": defect(normed, "silent", "dataset.final-state"),
}
"""What every sample has, the same in all versions."""

ARROW: dict[str, Defect] = {
    "a row of states missing": defect(states(lambda hidden: hidden[:-1]), "silent", "dataset.rows"),
    "a row of states too many": defect(
        states(lambda hidden: torch.cat((hidden, hidden[-1:]))), "silent", "dataset.rows"
    ),
    "NaN": defect(states(_poison), "silent", "dataset.finite"),
    "token ids of another text": defect(_other_tokens, "warns", "dataset.schema", "dataset.identity"),
    "token ids in int32": defect(_narrow_tokens, "silent"),
    "a plane missing": defect(states(lambda hidden: hidden[:, 1:]), "raises RuntimeError", "dataset.plane-count"),
    "planes side by side": defect(states(lambda hidden: hidden.flatten(1)), "raises RuntimeError", "dataset.schema"),
    "a batch axis": defect(states(lambda hidden: hidden[None]), "raises RuntimeError", "dataset.readable"),
    "no token ids": defect(_without("token_ids"), "raises KeyError", "dataset.schema"),
    "no states": defect(_without("hidden_states"), "raises KeyError", "dataset.schema"),
    "a tensor more": defect(_with_more, "silent"),
    "float16": defect(states(_cast(torch.float16)), "silent", "dataset.dtype"),
    "float32": defect(states(_cast(torch.float32)), "silent", "dataset.dtype"),
}
"""What one file of 0.9 has."""

ARROW_ALL: dict[str, Defect] = {
    "a plane missing": defect(states(lambda hidden: hidden[:, 1:]), "silent", "dataset.plane-count"),
    "float8 without scales": defect(states(_cast(torch.float8_e4m3fn)), "silent", "dataset.scales"),
}
"""What every file of 0.9 has: with nothing to disagree with, planes are missed by fc alone."""


def _files(change: Change) -> Callable[[Any], Any]:
    """Change each of the listed planes of a file of 0.4."""
    return lambda record: record | {"hidden_states": [change(plane) for plane in record["hidden_states"]]}


def _stacked(record: Any) -> Any:
    return record | {"hidden_states": torch.stack(record["hidden_states"], 1)}


def _without_key(name: str) -> Callable[[Any], Any]:
    return lambda record: {key: value for key, value in record.items() if key != name}


def _poison_listed(record: Any) -> Any:
    record["hidden_states"][0][3, 5] = torch.nan
    return record


def _fewer(record: Any) -> Any:
    return record | {"hidden_states": record["hidden_states"][1:]}


FILES: dict[str, Defect] = {
    "a row of states missing": defect(_files(lambda plane: plane[:-1]), "silent", "dataset.rows"),
    "a row of states too many": defect(_files(lambda plane: torch.cat((plane, plane[-1:]))), "silent", "dataset.rows"),
    "NaN": defect(_poison_listed, "silent", "dataset.finite"),
    "token ids of another text": defect(
        lambda record: record | {"input_ids": record["input_ids"].flip(0)}, "silent", "dataset.identity"
    ),
    "a plane missing": defect(_fewer, "raises RuntimeError", "dataset.plane-count"),
    "planes in one tensor": defect(_stacked, "raises TypeError", "dataset.schema"),
    "a batch axis": defect(_files(lambda plane: plane[None]), "raises RuntimeError", "dataset.readable"),
    "no mask": defect(_without_key("loss_mask"), "raises KeyError", "dataset.schema"),
    "a key more": defect(lambda record: record | {"id": "7"}, "silent"),
    "float16": defect(_files(lambda plane: plane.half()), "silent", "dataset.dtype"),
}
"""What one file of 0.4 has."""


@pytest.fixture
def write(contract: Contract, tmp_path: Path) -> Callable[..., list[Path]]:
    def write_files(dataset_format: str, change: Callable[[Wiring], Wiring] = lambda sound: sound) -> list[Path]:
        samples = make_samples(change(declared_wiring(contract, dataset_format)))
        return write_dataset(tmp_path, dataset_format, samples, "bfloat16")

    return write_files


@pytest.fixture
def load_arrow(peer: Callable[[str], ModuleType], contract: Contract, tmp_path: Path) -> Callable[[], Any]:
    """Give the loader of 0.9, over all files, collated into one pack."""
    data, shift = peer("speculators.train.data"), peer("speculators.models.eagle3.data").shift_batch
    collate = data.CollateFn(512, contract.target.hidden_size, 3, torch.bfloat16, shift)

    def load() -> Any:
        dataset = data.ArrowDataset(512, str(tmp_path), on_missing="raise")
        return collate([dataset[index] for index in range(len(dataset))])

    return load


@pytest.fixture
def load_files(
    unpack_wheel: Callable[[str, str], Path], import_from: Callable[..., ModuleType], tmp_path: Path
) -> Callable[[], Any]:
    """Give the loader of 0.4, over all files, collated into one pack."""
    data = import_from(unpack_wheel("speculators", "0.4.0"), "speculators.train.data")

    def load() -> Any:
        files = sorted(str(path) for path in tmp_path.glob("*.pt"))
        dataset = data.Eagle3SampleFileDataset(max_len=512, file_list=files)
        return data.create_collate_fn(512)([dataset[index] for index in range(len(files))])

    return load


@pytest.fixture(params=["speculators-arrow", "speculators-v1"])
def wired(request: pytest.FixtureRequest) -> tuple[str, Callable[[], Any]]:
    """Give a format and its loader."""
    return request.param, request.getfixturevalue({"arrow": "load_arrow", "v1": "load_files"}[request.param[12:]])


@pytest.fixture
def check(contract: Contract, tmp_path: Path) -> Callable[..., None]:
    """Demand what a table says: of the tool, and of the clauses; a defect that is none violates nothing."""

    def check_defect(known: Defect, load: Callable[[], Any]) -> None:
        assert listen(load) == known.said
        found = violated(judge(contract, "dataset", tmp_path, "dataset"))
        assert found >= known.clauses
        assert known.clauses or not found

    return check_defect


@pytest.mark.parametrize("name", WIRINGS)
def test_what_every_sample_has(
    name: str, wired: tuple[str, Callable[[], Any]], write: Callable[..., list[Path]], check: Callable[..., None]
) -> None:
    dataset_format, load = wired
    write(dataset_format, WIRINGS[name].make)
    check(WIRINGS[name], load)


@pytest.mark.parametrize("name", ARROW)
def test_what_one_file_of_0_9_has(
    name: str, write: Callable[..., list[Path]], load_arrow: Callable[[], Any], check: Callable[..., None]
) -> None:
    path = write("speculators-arrow")[BAD]
    save_file(ARROW[name].make(load_file(path)), path)
    check(ARROW[name], load_arrow)


@pytest.mark.parametrize("name", ARROW_ALL)
def test_what_every_file_of_0_9_has(
    name: str, write: Callable[..., list[Path]], load_arrow: Callable[[], Any], check: Callable[..., None]
) -> None:
    for path in write("speculators-arrow"):
        save_file(ARROW_ALL[name].make(load_file(path)), path)
    check(ARROW_ALL[name], load_arrow)


@pytest.mark.parametrize("name", FILES)
def test_what_one_file_of_0_4_has(
    name: str, write: Callable[..., list[Path]], load_files: Callable[[], Any], check: Callable[..., None]
) -> None:
    path = write("speculators-v1")[BAD]
    torch.save(FILES[name].make(torch.load(path, weights_only=True)), path)
    check(FILES[name], load_files)


@pytest.mark.parametrize(
    ("dataset_format", "load", "said"),
    [("speculators-arrow", "load_arrow", "SafetensorError"), ("speculators-v1", "load_files", "OSError")],
)
def test_a_file_that_was_cut_off(
    dataset_format: str,
    load: str,
    said: str,
    write: Callable[..., list[Path]],
    request: pytest.FixtureRequest,
    check: Callable[..., None],
) -> None:
    path = write(dataset_format)[BAD]
    path.write_bytes(path.read_bytes()[:-400])
    check(defect(str, f"raises {said}", "dataset.readable"), request.getfixturevalue(load))
