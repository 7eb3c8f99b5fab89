"""Padding of the built-in captures: on the right, where causal attention lets no token see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eagle3_contracts.subjects.captures.protocol import Captured

if TYPE_CHECKING:
    from torch import Tensor


def pad_batch(batch: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Give token ids [B, T], filled up with 0, and the mask [B, T] of the tokens that are real."""
    import torch

    length = max(len(ids) for ids in batch)
    padded = torch.tensor([[*ids, *[0] * (length - len(ids))] for ids in batch])
    mask = torch.tensor([[*[1] * len(ids), *[0] * (length - len(ids))] for ids in batch])
    return padded, mask


def cut_batch(batch: Sequence[Sequence[int]], planes: Sequence[Tensor], dtype: str) -> list[Captured]:
    """Cut each request's rows out of padded planes, P of [B, T, H], into memory of their own, in ``dtype``."""
    import torch

    stored = torch.stack([plane.to("cpu", getattr(torch, dtype)) for plane in planes])
    return [Captured(list(ids), stored[:, row, : len(ids)].clone()) for row, ids in enumerate(batch)]
