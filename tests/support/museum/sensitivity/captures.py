"""Sizes of faults of capture code: three requests of 17, 33 and 58 tokens, captured in float32, stored in bfloat16."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.captures import Batch, Rerouted
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import EmbeddedCapture, open_embedded_capture
from eagle3_contracts.subjects.captures.padding import pad_batch
from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.targets.llama_torch import forward
from support.museum.exhibits import judge_subject, sum_up
from support.museum.sensitivity.size import Caught, Size, pick, stir

if TYPE_CHECKING:
    from torch import Tensor

Spoil = Callable[[EmbeddedCapture, "Tensor", "list[int]", float, int], None]
"""Spoils planes [P, T, H] in place, given the capture, their tokens, a size and a draw."""
When = Callable[[int, int], bool]
"""Tells by the size of the batch, and by how often the request was asked before, whether an answer is spoiled."""

PLANE = 1
"""The plane whose surroundings in the layer are mixed in."""


def _always(_: int, __: int) -> bool:
    return True


def _in_batch(batch: int, _: int) -> bool:
    return batch > 1


def _again(batch: int, before: int) -> bool:
    return batch == 1 and before > 0


def _in_capture(clause: str, spoil: Spoil, when: When) -> Caught:
    def caught(contract: Contract, size: float, draw: int) -> bool:
        capture = open_embedded_capture(contract)
        asked = Counter[tuple[int, ...]]()

        def route(batch: Batch) -> list[Captured]:
            answers = []
            for request in capture(batch):
                ids, planes = list(request.token_ids), request.planes.clone()
                if when(len(batch), asked[tuple(ids)]):
                    spoil(capture, planes, ids, size, draw)
                asked[tuple(ids)] += len(batch) == 1
                answers.append(Captured(ids, planes))
            return answers

        found = judge_subject(contract, Subject("capture", "spoiled:capture", "spoiled", Rerouted(capture, route)))
        return sum_up(found)[clause] == Verdict.FAILED

    return caught


def _noise(_: EmbeddedCapture, planes: Tensor, __: list[int], share: float, draw: int) -> None:
    planes[:] = stir(planes, share, draw)


def _noise_last(_: EmbeddedCapture, planes: Tensor, __: list[int], share: float, draw: int) -> None:
    planes[-1] = stir(planes[-1], share, draw)


def _noise_row(_: EmbeddedCapture, planes: Tensor, __: list[int], share: float, draw: int) -> None:
    """Spoil one row of one plane."""
    row = pick(planes.shape[1], 1, draw)
    planes[PLANE, row] = stir(planes[PLANE, row], share, draw)


def _scale(_: EmbeddedCapture, planes: Tensor, __: list[int], off: float, ___: int) -> None:
    planes *= 1 + off


def _shift_rows(_: EmbeddedCapture, planes: Tensor, __: list[int], share: float, draw: int) -> None:
    rows = pick(planes.shape[1], round(share * planes.shape[1]), draw)
    planes[:, rows] = planes.roll(-1, dims=1)[:, rows]


def _lose_residual(capture: EmbeddedCapture, planes: Tensor, ids: list[int], share: float, _: int) -> None:
    """Take a share of the residual away from what its last sublayer adds to it."""
    states = forward(capture.weights.get, capture.shape, pad_batch([ids])[0])
    boundary = capture.planes[PLANE].boundary
    branch = states.branches[boundary - 1][0, : len(ids)]
    stream = states.boundaries[boundary][0, : len(ids)]
    planes[PLANE] = stream.lerp(branch, share).to(planes.dtype)


def _add_attention(capture: EmbeddedCapture, planes: Tensor, ids: list[int], share: float, _: int) -> None:
    """Add a share of the next layer's attention, as it does in place to a tap that kept a reference."""
    states = forward(capture.weights.get, capture.shape, pad_batch([ids])[0])
    boundary = capture.planes[PLANE].boundary
    stream = states.boundaries[boundary][0, : len(ids)]
    halfway = (states.boundaries[boundary + 1] - states.branches[boundary])[0, : len(ids)]
    planes[PLANE] = stream.lerp(halfway, share).to(planes.dtype)


def _size(what: str, clause: str, spoil: Spoil, high: float, *, when: When = _always, drawn: bool = True) -> Size:
    return Size(what, f"capture.{clause}", _in_capture(f"capture.{clause}", spoil, when), 0, high, drawn=drawn)


CAPTURE_SIZES: tuple[Size, ...] = (
    _size("noise on every plane, share of each row's norm", "boundary", _noise, 0.1),
    _size("noise on the last plane alone", "final-state", _noise_last, 0.1),
    _size("all planes scaled by 1 + size", "norm-range", _scale, 2.0, drawn=False),
    _size("share of a plane's residual that is left away", "residual", _lose_residual, 1.0, drawn=False),
    _size("share of every request's rows that are the next token's", "token-shift", _shift_rows, 0.5),
    _size("share of the next layer's attention that is added in place", "aliasing", _add_attention, 1.0, drawn=False),
    _size("noise on every plane in a batch", "padded-batch", _noise, 0.1, when=_in_batch),
    _size("noise on one row of every request in a batch", "padded-batch", _noise_row, 1.0, when=_in_batch),
    _size("noise on every plane the second time", "request-isolation", _noise, 0.1, when=_again),
    _size("noise on one row of every request the second time", "request-isolation", _noise_row, 1.0, when=_again),
)
