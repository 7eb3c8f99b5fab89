"""Faulty datasets of the embedded target: captured anew, spoiled in one way, and written."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.captures import move_boundaries
from eagle3_contracts.faults.injecting.dumped_rows import DUMPED_ROW_FAULTS
from eagle3_contracts.faults.injecting.dumps import Dump, dump_golden_texts
from eagle3_contracts.faults.injecting.files import (
    add_code,
    copy_sample,
    declare_default_ids,
    rename_keys,
    truncate,
)
from eagle3_contracts.faults.injecting.rotations import rotate
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from eagle3_contracts.subjects.captures.padding import pad_batch
from eagle3_contracts.subjects.targets.llama_torch import forward, rms_norm

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class DatasetInjection:
    """What spoils a dump, and which sound dump it starts from.

    ``suffix``: the format (see ``Dump``). ``embedding``: the contract stores the embedding plane as well.
    """

    spoil: Callable[[Dump], None]
    suffix: str = ".pt"
    embedding: bool = False


def inject_dataset(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the faulty dataset into ``folder``; give the contract it is to be held against, and its folder."""
    injection = DATASET_INJECTIONS[fault_id]
    contract, dump = prepare_dump(contract, folder, injection.suffix, embedding=injection.embedding)
    injection.spoil(dump)
    return contract, dump.write()


def write_sound_dataset(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the dataset that a fault starts from."""
    injection = DATASET_INJECTIONS[fault_id]
    contract, dump = prepare_dump(contract, folder, injection.suffix, embedding=injection.embedding)
    return contract, dump.write()


def prepare_dump(contract: Contract, folder: Path, suffix: str, *, embedding: bool = False) -> tuple[Contract, Dump]:
    """Give a sound dump, not yet written, and the contract that it conforms to."""
    if embedding:
        contract = store_embedding(contract)
    planes = contract.stored_planes("specforge" if suffix == ".ckpt" else "speculators-v1")
    capture = dataclasses.replace(open_embedded_capture(contract), planes=planes)
    return contract, dump_golden_texts(folder, capture, suffix)


def store_embedding(contract: Contract) -> Contract:
    """Give the contract with the embedding output stored as the first plane."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["planes"].append({"name": "embed", "boundary": 0})
    document["storage"]["planes"].insert(0, "embed")
    return Contract.model_validate_json(json.dumps(document))


def _remove_plane(dump: Dump) -> None:
    for sample in dump.samples:
        del sample.planes[-1]


def _add_plane(dump: Dump) -> None:
    for sample in dump.samples:
        sample.planes.append(sample.planes[-1].clone())


def _cut_width(dump: Dump) -> None:
    dump.change_planes(lambda plane: plane[:, : plane.shape[1] * 3 // 4].clone())


def _cast_one(dump: Dump) -> None:
    import torch

    sample = dump.samples[-1]
    sample.planes = [plane.to(torch.float16) for plane in sample.planes]


def _drop_scales(dump: Dump) -> None:
    import torch

    dump.change_planes(lambda plane: (plane.float() / _scale(plane)).to(torch.float8_e4m3fn))


def _lose_scale(dump: Dump) -> None:
    import torch

    dump.change_planes(lambda plane: (plane.float() / 5.96).to(torch.float8_e4m3fn).to(plane.dtype))


def _scale(plane: Tensor) -> Tensor:
    """Give a scale for each row that brings its largest value to the top of float8_e4m3fn."""
    return plane.float().abs().amax(dim=1, keepdim=True) / 448


def _drop_row(dump: Dump) -> None:
    sample = dump.samples[1]
    sample.planes = [plane[1:].clone() for plane in sample.planes]


def _lengthen_mask(dump: Dump) -> None:
    import torch

    sample = dump.samples[1]
    sample.mask = torch.cat([sample.mask, sample.mask[-1:]])


def _fill_mask(value: int) -> Callable[[Dump], None]:
    def spoil(dump: Dump) -> None:
        for sample in dump.samples:
            sample.mask.fill_(value)

    return spoil


def _foreign_ids(dump: Dump) -> None:
    """Put an id beyond the vocabulary at the end of one sample; the states are the sound ones."""
    dump.samples[2].token_ids[-1] = 100_000


def _nan(dump: Dump) -> None:
    dump.samples[1].planes[1][3:5] = float("nan")


def _leave_slots(dump: Dump) -> None:
    for sample in dump.samples:
        sample.planes[1][-3:] = 0


def _store_twice(dump: Dump) -> None:
    for sample in dump.samples:
        sample.planes[2] = sample.planes[1].clone()


def _put_embedding_first(dump: Dump) -> None:
    first = dump.capture.planes[0].model_copy(update={"boundary": 0, "state": "raw"})
    dump.capture_again(dataclasses.replace(dump.capture, planes=(first, *dump.capture.planes[:-1])))


def _other_norm_state(dump: Dump) -> None:
    """Store the last plane in the norm state that the format does not keep."""
    last = dump.capture.planes[-1]
    state = "pre_norm" if last.state == "post_norm" else "post_norm"
    planes = (*dump.capture.planes[:-1], last.model_copy(update={"state": state}))
    dump.capture_again(dataclasses.replace(dump.capture, planes=planes))


def _norm_again(dump: Dump) -> None:
    weight, eps = dump.capture.weights["norm.weight"], dump.capture.shape.eps
    dump.change_plane(-1, lambda plane: rms_norm(plane.float(), weight, eps).to(plane.dtype))


def _random_embedding(dump: Dump) -> None:
    import torch

    table = torch.randn(dump.capture.shape.vocab, dump.capture.shape.hidden, generator=torch.Generator().manual_seed(0))
    for sample in dump.samples:
        sample.planes[0] = (table[sample.token_ids] * 0.02).to(sample.planes[0].dtype)


def _move(*boundaries: int) -> Callable[[Dump], None]:
    """Tap each plane of the embedded contract, 2, 4, 5 and 8, so many boundaries later."""

    def spoil(dump: Dump) -> None:
        steps = dict(zip((plane.boundary for plane in dump.capture.planes), boundaries, strict=True))
        dump.capture_again(move_boundaries(dump.capture, lambda boundary: boundary + steps[boundary]))

    return spoil


def _bare_plane(dump: Dump) -> None:
    import torch

    boundary = dump.capture.planes[1].boundary
    for sample in dump.samples:
        padded, _ = pad_batch([sample.token_ids.tolist()])
        with torch.inference_mode():
            branch = forward(dump.capture.weights.get, dump.capture.shape, padded).branches[boundary - 1][0]
        sample.planes[1] = branch.clone().to(sample.planes[1].dtype)


def _permute(dump: Dump) -> None:
    for sample in dump.samples:
        sample.planes[0], sample.planes[1] = sample.planes[1], sample.planes[0]


def _shift(dump: Dump) -> None:
    dump.change_planes(lambda plane: plane.roll(-1, dims=0))


def _swap_files(dump: Dump) -> None:
    """Exchange the states of two samples, cut to the shorter; the longer one keeps its own tail."""
    one, other = dump.samples[0], dump.samples[1]
    size = min(len(one.token_ids), len(other.token_ids))
    for first, second in zip(one.planes, other.planes, strict=True):
        kept = first[:size].clone()
        first[:size] = second[:size]
        second[:size] = kept


def _other_request(dump: Dump) -> None:
    sample = dump.samples[1]
    foreign = [(7 * int(item) + 13) % dump.capture.shape.vocab for item in sample.token_ids.flip(0)]
    sample.planes = [plane.clone() for plane in dump.capture([foreign])[0].planes]


def _after(spoil: Callable[[Path], None]) -> Callable[[Dump], None]:
    return lambda dump: dump.after.append(spoil)


DATASET_INJECTIONS: dict[str, DatasetInjection] = {
    "dataset-pickle-with-code": DatasetInjection(_after(add_code)),
    "dataset-truncated": DatasetInjection(_after(truncate)),
    "dataset-other-keys": DatasetInjection(_after(rename_keys)),
    "dataset-default-ids-declared": DatasetInjection(_after(declare_default_ids)),
    "dataset-plane-missing": DatasetInjection(_remove_plane),
    "dataset-plane-added": DatasetInjection(_add_plane),
    "dataset-drafter-width": DatasetInjection(_cut_width),
    "dataset-float16": DatasetInjection(_cast_one),
    "dataset-scales-missing": DatasetInjection(_drop_scales),
    "dataset-row-short": DatasetInjection(_drop_row),
    "dataset-mask-long": DatasetInjection(_lengthen_mask),
    "dataset-mask-all-ones": DatasetInjection(_fill_mask(1)),
    "dataset-mask-all-zeros": DatasetInjection(_fill_mask(0)),
    "dataset-foreign-token-ids": DatasetInjection(_foreign_ids),
    "dataset-nan-rows": DatasetInjection(_nan),
    "dataset-unwritten-slots": DatasetInjection(_leave_slots),
    "dataset-unscaled": DatasetInjection(_lose_scale),
    "dataset-id-twice": DatasetInjection(_store_twice),
    "dataset-sample-twice": DatasetInjection(_after(copy_sample)),
    "dataset-embedding-first": DatasetInjection(_put_embedding_first),
    "dataset-final-state-normed": DatasetInjection(_other_norm_state),
    "dataset-final-state-not-normed": DatasetInjection(_other_norm_state, ".ckpt"),
    "dataset-random-embedding": DatasetInjection(_random_embedding, embedding=True),
    "dataset-final-state-normed-twice": DatasetInjection(_norm_again, ".ckpt"),
    "dataset-batch-dimension-twice": DatasetInjection(DUMPED_ROW_FAULTS["dataset-batch-dimension"], ".ckpt"),
    "dataset-ids-one-late": DatasetInjection(_move(1, 1, 1, 0)),
    "dataset-one-plane-early": DatasetInjection(_move(-1, 0, 0, 0)),
    "dataset-last-state-early": DatasetInjection(_move(0, 0, 0, -1)),
    "dataset-residual-missing": DatasetInjection(_bare_plane),
    "dataset-rotated-stream": DatasetInjection(lambda dump: dump.change_planes(rotate)),
    "dataset-planes-permuted": DatasetInjection(_permute),
    "dataset-shifted": DatasetInjection(_shift),
    "dataset-files-swapped": DatasetInjection(_swap_files),
    "dataset-states-of-other-request": DatasetInjection(_other_request),
    **{fault_id: DatasetInjection(spoil) for fault_id, spoil in DUMPED_ROW_FAULTS.items()},
}
"""By fault id: how a sound dump of the embedded target is spoiled."""
