"""Faulty captures of the embedded target: each does one thing wrong, and the rest as the sound one does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from eagle3_contracts.faults.injecting.rotations import rotate
from eagle3_contracts.subjects.captures.embedded import EmbeddedCapture, open_embedded_capture
from eagle3_contracts.subjects.captures.padding import pad_batch
from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.targets.llama_torch import forward

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract

Batch = Sequence[Sequence[int]]
Capture = Callable[[Batch], list[Captured]]


@dataclass(frozen=True, slots=True)
class Edited:
    """A capture whose every answer is changed after the fact; it says what it computes in, as the sound one does."""

    inner: EmbeddedCapture
    edit: Callable[[Captured], Captured]

    @property
    def compute_dtype(self) -> str:
        """What the capture computes in."""
        return self.inner.compute_dtype

    def __call__(self, batch: Batch, /) -> list[Captured]:
        """Capture, then change every answer."""
        return [self.edit(captured) for captured in self.inner(batch)]


@dataclass(frozen=True, slots=True)
class Rerouted:
    """A capture whose every call goes another way through the sound one."""

    inner: EmbeddedCapture
    route: Callable[[Batch], list[Captured]]

    @property
    def compute_dtype(self) -> str:
        """What the capture computes in."""
        return self.inner.compute_dtype

    def __call__(self, batch: Batch, /) -> list[Captured]:
        """Capture by the other way."""
        return self.route(batch)


def edit_planes(capture: EmbeddedCapture, change: Callable[[Tensor], Tensor]) -> Edited:
    """Change the planes [P, T, H] of every answer."""
    return Edited(capture, lambda captured: Captured(captured.token_ids, change(captured.planes.clone())))


def move_boundaries(capture: EmbeddedCapture, move: Callable[[int], int]) -> EmbeddedCapture:
    """Tap other boundaries than the declared ones."""
    last = capture.shape.layers
    moved = []
    for plane in capture.planes:
        boundary = move(plane.boundary)
        state = "pre_norm" if boundary == last else "raw"
        moved.append(plane.model_copy(update={"boundary": boundary, "state": state}))
    return dataclasses.replace(capture, planes=tuple(moved))


def _without_hook(capture: EmbeddedCapture) -> Capture:
    def route(_: Batch) -> list[Captured]:
        raise AttributeError("the model has no method set_eagle3_layers_to_capture")

    return Rerouted(capture, route)


def _keep_planes(first: int, stop: int) -> Callable[[EmbeddedCapture], Capture]:
    return lambda capture: edit_planes(capture, lambda planes: planes[first : len(planes) + stop].clone())


def _cut_width(capture: EmbeddedCapture) -> Capture:
    return edit_planes(capture, lambda planes: planes[..., : planes.shape[-1] * 3 // 4].clone())


def _last_chunk(capture: EmbeddedCapture) -> Capture:
    chunk = 16
    return edit_planes(capture, lambda planes: planes[:, (planes.shape[1] - 1) // chunk * chunk :].clone())


def _add_token(capture: EmbeddedCapture) -> Capture:
    return Rerouted(capture, lambda batch: capture([[0, *ids] for ids in batch]))


def _cast(capture: EmbeddedCapture) -> Capture:
    import torch

    return edit_planes(capture, lambda planes: planes.to(torch.float16))


def _overflow(capture: EmbeddedCapture) -> Capture:
    def change(planes: Tensor) -> Tensor:
        planes[-1, -1, planes[-1, -1].abs().argmax()] = float("inf")
        return planes

    return edit_planes(capture, change)


def _leave_slots(capture: EmbeddedCapture) -> Capture:
    def change(planes: Tensor) -> Tensor:
        planes[1, -4:] = 0
        return planes

    return edit_planes(capture, change)


def _scale(capture: EmbeddedCapture) -> Capture:
    return edit_planes(capture, lambda planes: planes / 5.96)


def _too_late(capture: EmbeddedCapture) -> Capture:
    """Tap the defaults of a target one layer deeper, whatever was asked for: 2, n//2, n-3 of n + 1, and n."""
    layers = capture.shape.layers
    defaults = dict(zip(sorted(plane.boundary for plane in capture.planes), (2, 4, layers - 2, layers), strict=True))
    return move_boundaries(capture, lambda boundary: defaults[boundary])


def _lose_theta(capture: EmbeddedCapture) -> Capture:
    rope = dataclasses.replace(capture.shape.rope, theta=10000.0)
    return dataclasses.replace(capture, shape=dataclasses.replace(capture.shape, rope=rope))


def _rotated(capture: EmbeddedCapture) -> Capture:
    return edit_planes(capture, rotate)


def _list_order(capture: EmbeddedCapture) -> Capture:
    return edit_planes(capture, lambda planes: planes[[1, 0, *range(2, len(planes))]])


def _bare(capture: EmbeddedCapture) -> Capture:
    """Capture the second plane as what its layer's feed-forward adds."""

    def route(batch: Batch) -> list[Captured]:
        import torch

        padded, _ = pad_batch(batch)
        with torch.inference_mode():
            branch = forward(capture.weights.get, capture.shape, padded).branches[capture.planes[1].boundary - 1]
        answers = [Captured(captured.token_ids, captured.planes.clone()) for captured in capture(batch)]
        for row, captured in enumerate(answers):
            captured.planes[1] = branch[row, : len(captured.token_ids)]
        return answers

    return Rerouted(capture, route)


def _shift(capture: EmbeddedCapture) -> Capture:
    return edit_planes(capture, lambda planes: planes.roll(-1, dims=1))


def _norm_final(capture: EmbeddedCapture) -> Capture:
    last = capture.planes[-1].model_copy(update={"state": "post_norm"})
    return dataclasses.replace(capture, planes=(*capture.planes[:-1], last))


def _reuse_buffer(capture: EmbeddedCapture) -> Capture:
    """Write every request's planes into one buffer and give views of it."""
    buffers: list[Tensor] = []

    def route(batch: Batch) -> list[Captured]:
        import torch

        answers = capture(batch)
        count, _, width = answers[0].planes.shape
        if not buffers:
            buffers.append(torch.zeros(len(answers) * count, 4096, width, dtype=answers[0].planes.dtype))
        if len(batch) > 1:
            return answers
        view = buffers[0][:count, : answers[0].planes.shape[1]]
        view.copy_(answers[0].planes)
        return [Captured(answers[0].token_ids, view)]

    return Rerouted(capture, route)


def _add_in_place(capture: EmbeddedCapture) -> Capture:
    """Give the stream itself as every auxiliary plane: what the last of them saw, in one storage."""

    def change(planes: Tensor) -> Any:
        stream = planes[-2].clone()
        return [*[stream] * (len(planes) - 1), planes[-1].clone()]

    return edit_planes(capture, change)


def _attend_padding(capture: EmbeddedCapture) -> Capture:
    """Pad on the left, without a mask and with positions that count the padding."""

    def route(batch: Batch) -> list[Captured]:
        length = max(len(ids) for ids in batch)
        answers = capture([[*[0] * (length - len(ids)), *ids] for ids in batch])
        return [
            Captured(list(ids), captured.planes[:, length - len(ids) :].clone())
            for ids, captured in zip(batch, answers, strict=True)
        ]

    return Rerouted(capture, route)


def _keep_keys(capture: EmbeddedCapture) -> Capture:
    """Go on from the last request of a batch, as if its keys and values were still there."""
    before: list[int] = []

    def route(batch: Batch) -> list[Captured]:
        if len(batch) > 1:
            before[:] = batch[-1]
            return capture(batch)
        captured = capture([[*before, *batch[0]]])[0]
        return [Captured(list(batch[0]), captured.planes[:, len(before) :].clone())]

    return Rerouted(capture, route)


def inject_capture(fault_id: str, contract: Contract) -> Capture:
    """Give the faulty capture of the embedded target; ``KeyError`` for an unknown fault."""
    return CAPTURE_INJECTIONS[fault_id](open_embedded_capture(contract))


def __getattr__(name: str) -> Callable[[Contract], Capture]:
    """Give a factory by fault id, so that one fault can be named on the command line.

    ``eagle3-contracts check NAME --capture "eagle3_contracts.faults.injecting.captures:capture-ids-one-late()"``.
    """
    if name not in CAPTURE_INJECTIONS:
        raise AttributeError(name)
    return partial(inject_capture, name)


CAPTURE_INJECTIONS: dict[str, Callable[[EmbeddedCapture], Capture]] = {
    "capture-without-hook": _without_hook,
    "capture-last-id-never-reached": _keep_planes(0, -1),
    "capture-early-stage-planes-lost": _keep_planes(2, 0),
    "capture-drafter-width": _cut_width,
    "capture-last-chunk-alone": _last_chunk,
    "capture-special-token-added": _add_token,
    "capture-cast-to-float16": _cast,
    "capture-overflow": _overflow,
    "capture-unwritten-slots": _leave_slots,
    "capture-scaled": _scale,
    "capture-ids-one-late": lambda capture: move_boundaries(
        capture, lambda boundary: min(boundary + 1, capture.shape.layers)
    ),
    "capture-ids-one-early": lambda capture: move_boundaries(capture, lambda boundary: boundary - 1),
    "capture-taps-set-too-late": _too_late,
    "capture-rope-theta-lost": _lose_theta,
    "capture-rotated-stream": _rotated,
    "capture-list-order": _list_order,
    "capture-residual-missing": _bare,
    "capture-shifted": _shift,
    "capture-final-state-normed": _norm_final,
    "capture-buffer-reused": _reuse_buffer,
    "capture-in-place-add": _add_in_place,
    "capture-padding-attended": _attend_padding,
    "capture-keys-left-over": _keep_keys,
}
"""By fault id: a sound capture in, a faulty one out."""
