"""Sizes of faults of the recording: six sequences of 222 tokens in bfloat16, two of 25 in float32."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.goldens import DRAFTS, STATES, Recording
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from support.museum.exhibits import judge_subject, sum_up
from support.museum.sensitivity.size import Caught, Size, pick, stir, stir_matrices

if TYPE_CHECKING:
    from torch import Tensor

Tensors = dict[str, "Tensor"]
Spoil = Callable[[Tensors, float, int], None]
WEIGHTS = "drafter/model.safetensors"


def _in_recording(clause: str, file: str, spoil: Spoil) -> Caught:
    def caught(contract: Contract, size: float, draw: int) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            recording = Recording(contract, Path(folder) / "recording")
            recording.change(file, lambda tensors: spoil(tensors, size, draw))
            recording.list_files()
            found = judge_subject(contract, Subject("golden", str(recording.write()), "spoiled"))
            return sum_up(found)[clause] == Verdict.FAILED

    return caught


def _parts(tensors: Tensors, part: str, dtype: str) -> list[str]:
    return [name for name in tensors if name.endswith(part) and str(tensors[name].dtype) == f"torch.{dtype}"]


def _noise(dtype: str) -> Spoil:
    """Spoil every boundary of the sequences of that dtype."""

    def spoil(tensors: Tensors, share: float, draw: int) -> None:
        for name in _parts(tensors, ".boundaries", dtype):
            tensors[name] = stir(tensors[name], share, draw)

    return spoil


def _noise_row(tensors: Tensors, share: float, draw: int) -> None:
    """Spoil one row of one boundary."""
    row = pick(tensors["0.boundaries"].shape[1], 1, draw)
    tensors["0.boundaries"][4, row] = stir(tensors["0.boundaries"][4, row], share, draw)


def _noise_logits(dtype: str) -> Spoil:
    def spoil(tensors: Tensors, nats: float, draw: int) -> None:
        import torch

        chance = torch.Generator().manual_seed(draw)
        for name in _parts(tensors, ".logits", dtype):
            noise = nats * torch.randn(tensors[name].shape, generator=chance)
            tensors[name] = (tensors[name].float() + noise).to(tensors[name].dtype)

    return spoil


def _draft_others(depth: int) -> Spoil:
    """Put another token into so many places of one drafted position."""

    def spoil(tensors: Tensors, count: float, draw: int) -> None:
        places = [(name, row) for name in tensors if name.endswith(".drafted") for row in range(len(tensors[name]))]
        for name, row in (places[at] for at in pick(len(places), count, draw)):
            tensors[name][row, depth] = (int(tensors[name][row, depth]) + 1) % 256

    return spoil


def _size(what: str, clause: str, file: str, spoil: Spoil, high: float, *, whole: bool = False) -> Size:
    return Size(what, f"golden.{clause}", _in_recording(f"golden.{clause}", file, spoil), 0, high, whole)


GOLDEN_SIZES: tuple[Size, ...] = (
    _size("noise on every boundary in bfloat16, share of each row's norm", "states", STATES, _noise("bfloat16"), 0.1),
    _size("noise on every boundary in float32", "states", STATES, _noise("float32"), 0.0005),
    _size("noise on one row of one boundary in bfloat16", "states", STATES, _noise_row, 1.0),
    _size("noise on logits in bfloat16, standard deviation", "logits", STATES, _noise_logits("bfloat16"), 0.5),
    _size("noise on logits in float32, standard deviation", "logits", STATES, _noise_logits("float32"), 0.005),
    _size("first drafted tokens, of 239, that are others", "drafts", DRAFTS, _draft_others(0), 16, whole=True),
    _size("last drafted tokens, of 239, that are others", "drafts", DRAFTS, _draft_others(2), 64, whole=True),
    _size("noise on every matrix of the drafter, share of its deviation", "drafts", WEIGHTS, stir_matrices, 0.02),
)
