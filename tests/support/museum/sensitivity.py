"""The smallest fault that is caught: a size is halved until the clause passes below it and fails above it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.datasets import prepare_dump
from eagle3_contracts.faults.injecting.dumped_rows import disturb
from eagle3_contracts.faults.injecting.dumps import Dump
from eagle3_contracts.faults.injecting.exports import Export
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.datasets.sampling import pick_probes, sample_evenly
from support.museum.exhibits import Verdicts, judge_subject, sum_up

if TYPE_CHECKING:
    from torch import Tensor

Caught = Callable[[Contract, float], bool]

HALVINGS = 7
FILES, DRAWS = 10_000, 400


@dataclass(frozen=True, slots=True)
class Size:
    """A fault whose size can be chosen. ``low`` is not caught, ``high`` is; ``whole``: sizes are counts."""

    what: str
    clause: str
    caught: Caught
    low: float
    high: float
    whole: bool = False


def measure(size: Size, contract: Contract) -> tuple[float, float]:
    """Give the largest size seen to pass and the smallest seen to fail; each within a hundredth of the range."""
    if not size.caught(contract, size.high) or size.caught(contract, size.low):
        raise ValueError(f"{size.what}: {size.low} must pass and {size.high} must fail")
    low, high = size.low, size.high
    for _ in range(HALVINGS):
        middle = (low + high) // 2 if size.whole else (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (low, middle) if size.caught(contract, middle) else (middle, high)
    return low, high


def _judge_dump(contract: Contract, spoil: Callable[[Dump], None]) -> Verdicts:
    with tempfile.TemporaryDirectory() as folder:
        contract, dump = prepare_dump(contract, Path(folder) / "states", ".pt")
        spoil(dump)
        return sum_up(judge_subject(contract, Subject("dataset", str(dump.write()), "spoiled")))


def _in_dump(clause: str, spoil: Callable[[Dump, float], None]) -> Caught:
    return lambda contract, size: _judge_dump(contract, lambda dump: spoil(dump, size))[clause] == Verdict.FAILED


def _in_export(clause: str, spoil: Callable[[Export, float], None]) -> Caught:
    def caught(contract: Contract, size: float) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            changed, export = prepare_export(contract, Path(folder), "specforge", recorded=True)
            spoil(export, size)
            found = judge_subject(changed, Subject("checkpoint", str(export.write()), "spoiled"))
            return sum_up(found)[clause] == Verdict.FAILED

    return caught


def _noise(dump: Dump, share: float) -> None:
    dump.change_planes(lambda plane: disturb(plane, share))


def _noise_last(dump: Dump, share: float) -> None:
    dump.change_plane(-1, lambda plane: disturb(plane, share))


def _scale(dump: Dump, off: float) -> None:
    dump.change_planes(lambda plane: plane * (1 + off))


def _spoil_rows(change: Callable[[Tensor], Tensor]) -> Callable[[Dump, float], None]:
    """Change so many rows of every plane, spread evenly over all samples."""

    def spoil(dump: Dump, count: float) -> None:
        places = [(at, row) for at, sample in enumerate(dump.samples) for row in range(1, len(sample.token_ids))]
        for at, row in sample_evenly(places, int(count), 0) if count else ():
            for plane in dump.samples[at].planes:
                plane[row] = change(plane)[row]

    return spoil


def _blank(dump: Dump, count: float) -> None:
    """Empty so many rows of one plane of one sample."""
    if count:
        dump.samples[0].planes[1][-int(count) :] = 0


def _spoil_samples(change: Callable[[Tensor], Tensor]) -> Callable[[Dump, float], None]:
    """Change all planes of so many of the four samples."""

    def spoil(dump: Dump, count: float) -> None:
        for sample in dump.samples[: int(count)]:
            sample.planes = [change(plane) for plane in sample.planes]

    return spoil


def _noise_weights(export: Export, share: float) -> None:
    import torch

    draw = torch.Generator().manual_seed(1)
    for name, tensor in export.tensors.items():
        if tensor.is_floating_point() and tensor.ndim == 2:
            noise = torch.randn(tensor.shape, generator=draw) * tensor.float().std()
            export.tensors[name] = (tensor.float() + share * noise).to(tensor.dtype)


def _swap_head_rows(export: Export, count: float) -> None:
    head = export.tensors["lm_head.weight"].clone()
    head[: int(count)] = head[: int(count)].roll(1, 0)
    export.tensors["lm_head.weight"] = head


def _rolled(plane: Tensor) -> Tensor:
    return plane.roll(-1, dims=0)


SIZES: tuple[Size, ...] = (
    Size(
        "noise on every plane, share of each row's norm",
        "dataset.boundary",
        _in_dump("dataset.boundary", _noise),
        0,
        0.1,
    ),
    Size("noise on the last plane alone", "dataset.final-state", _in_dump("dataset.final-state", _noise_last), 0, 0.1),
    Size("all planes scaled by 1 + size", "dataset.boundary", _in_dump("dataset.boundary", _scale), 0, 0.06),
    Size("all planes scaled by 1 + size", "dataset.norm-range", _in_dump("dataset.norm-range", _scale), 0, 1.0),
    Size(
        "rows of 220 that are the next token's",
        "dataset.token-shift",
        _in_dump("dataset.token-shift", _spoil_rows(_rolled)),
        *(0, 40),
        whole=True,
    ),
    Size(
        "rows of 220 of one plane that are zeros",
        "dataset.zero-rows",
        _in_dump("dataset.zero-rows", _blank),
        0,
        8,
        whole=True,
    ),
    Size(
        "samples of 4 that are shifted by one token",
        "dataset.token-shift",
        _in_dump("dataset.token-shift", _spoil_samples(_rolled)),
        *(0, 1),
        whole=True,
    ),
    Size(
        "noise on every matrix of the drafter, share of its standard deviation",
        "checkpoint.drafted-tokens",
        _in_export("checkpoint.drafted-tokens", _noise_weights),
        *(0, 0.02),
    ),
    Size(
        "rows of lm_head, of 160, that are another token's",
        "checkpoint.drafted-tokens",
        _in_export("checkpoint.drafted-tokens", _swap_head_rows),
        *(0, 64),
        whole=True,
    ),
)


def find_chances(share: float, *, contiguous: bool) -> tuple[float, float]:
    """Give how often a share of bad files is among those read by default, and among those held against the target.

    By drawing: bad files anywhere in 10,000 of equal length, or in one stretch as when a capture went wrong half-way.
    """
    defaults, seen, probed = Options(), 0, 0
    for seed in range(DRAWS):
        bad = _draw_bad(random.Random(seed), share, contiguous=contiguous)  # noqa: S311 - no secret
        read = sample_evenly(range(FILES), defaults.sampled_files, seed)
        probes = pick_probes([512] * len(read), defaults.probes, seed, 64)
        seen += any(file in bad for file in read)
        probed += any(read[place] in bad for place in probes)
    return seen / DRAWS, probed / DRAWS


def _draw_bad(chance: random.Random, share: float, *, contiguous: bool) -> frozenset[int]:
    count = max(1, round(FILES * share))
    if not contiguous:
        return frozenset(chance.sample(range(FILES), count))
    first = chance.randrange(FILES - count + 1)
    return frozenset(range(first, first + count))


SHARES: Sequence[float] = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
