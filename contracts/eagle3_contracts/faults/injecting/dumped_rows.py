"""Faulty dumps whose rows are not those of their tokens, or not what was captured."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from eagle3_contracts.faults.injecting.dumps import Dump

if TYPE_CHECKING:
    from torch import Tensor

Spoil = Callable[[Dump], None]

_CHUNK = 16
_NOISE = 0.08
_DISTURBANCE = 0.15


def _keep_last_chunk(dump: Dump) -> None:
    dump.change_planes(lambda plane: plane[(len(plane) - 1) // _CHUNK * _CHUNK :].clone())


def _repeat_chunk_edge(dump: Dump) -> None:
    """Store the row at each chunk's edge twice: in the chunk that it ends, and in the one that it begins."""
    import torch

    def change(plane: Tensor) -> Tensor:
        chunks = [plane[start : start + _CHUNK] for start in range(0, len(plane), _CHUNK)]
        repeated = [torch.cat([before[-1:], chunk]) for before, chunk in pairwise(chunks)]
        return torch.cat([chunks[0], *repeated])

    dump.change_planes(change)


def _empty_plane(dump: Dump) -> None:
    dump.change_plane(1, lambda plane: plane * 0)


def _overflow(dump: Dump) -> None:
    """Leave infinities where a cast through a narrower dtype overflowed: the largest value of a few rows."""

    def change(plane: Tensor) -> Tensor:
        plane[3:6, plane[3:6].abs().amax(0).argmax()] = float("inf")
        return plane

    dump.change_plane(-1, change)


def _mix_requests(dump: Dump) -> None:
    """Exchange every other row of two samples that ran in one batch."""
    one, other = dump.samples[0], dump.samples[1]
    size = min(len(one.token_ids), len(other.token_ids))
    for first, second in zip(one.planes, other.planes, strict=True):
        kept = first[:size:2].clone()
        first[:size:2] = second[:size:2]
        second[:size:2] = kept


def _lend_tail(dump: Dump) -> None:
    """Put the last two thirds of one sample's states into another's."""
    one, other = dump.samples[0], dump.samples[1]
    size = min(len(one.token_ids), len(other.token_ids))
    for first, second in zip(one.planes, other.planes, strict=True):
        second[size // 3 : size] = first[size // 3 : size]


def _strip_thinking(dump: Dump) -> None:
    """Store the ids of a text with a span taken out in front, filled up behind; states are those of the whole text."""
    import torch

    for sample in dump.samples:
        ids, span = sample.token_ids, len(sample.token_ids) // 4
        sample.token_ids = torch.cat([ids[:4], ids[4 + span :], ids[4 : 4 + span]])


def _add_noise(dump: Dump) -> None:
    """Add the noise of a coarse quantisation to every plane, a share of each row's norm."""
    dump.change_planes(lambda plane: disturb(plane, _NOISE))


def _disturb_last(dump: Dump) -> None:
    """Replace the last state by one near to it that still has nearly all of its argmaxes."""
    dump.change_plane(-1, lambda plane: disturb(plane, _DISTURBANCE))


def disturb(plane: Tensor, share: float) -> Tensor:
    """Add noise [T, H] whose norm is a share of each row's own."""
    import torch

    noise = torch.randn(plane.shape, generator=torch.Generator().manual_seed(len(plane)))
    row = plane.float().norm(dim=1, keepdim=True) / noise.norm(dim=1, keepdim=True)
    disturbed: Tensor = plane.float() + share * row * noise
    return disturbed.to(plane.dtype)


DUMPED_ROW_FAULTS: dict[str, Spoil] = {
    "dataset-batch-dimension": lambda dump: dump.change_planes(lambda plane: plane[None]),
    "dataset-last-chunk-alone": _keep_last_chunk,
    "dataset-chunk-edge-twice": _repeat_chunk_edge,
    "dataset-plane-of-zeros": _empty_plane,
    "dataset-overflow": _overflow,
    "dataset-rows-mixed": _mix_requests,
    "dataset-tail-of-another": _lend_tail,
    "dataset-thinking-stripped": _strip_thinking,
    "dataset-quantisation-noise": _add_noise,
    "dataset-last-state-disturbed": _disturb_last,
}
"""By fault id: how a sound dump is spoiled."""
