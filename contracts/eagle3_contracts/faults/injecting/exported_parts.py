"""Faulty exports whose parts do not belong together: ids, vocabulary maps, halves and shards of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eagle3_contracts.faults.injecting.exports import KEY, Export

if TYPE_CHECKING:
    from torch import Tensor

Spoil = Callable[[Export], None]


def _list_ids(flat: list[int], nested: list[int]) -> Spoil:
    """Write ids into both places that engines look at: boundaries at the top, ids of layer outputs nested."""

    def spoil(export: Export) -> None:
        export.config[KEY] = flat
        export.config["eagle_config"] = {KEY: nested}

    return spoil


def _change(name: str, change: Callable[[Tensor], Tensor]) -> Spoil:
    def spoil(export: Export) -> None:
        export.tensors[name] = change(export.tensors[name].clone())

    return spoil


def _lose_map(export: Export) -> None:
    del export.tensors["d2t"], export.tensors["t2d"]


def _number_map(export: Export) -> None:
    import torch

    export.tensors["d2t"] = torch.arange(len(export.tensors["d2t"]))


def _take_first_ids(export: Export) -> None:
    """Map the draft vocabulary to the first ids, in both tensors alike."""
    import torch

    size = len(export.tensors["d2t"])
    export.tensors["d2t"] = torch.zeros(size, dtype=torch.int64)
    export.tensors["t2d"] = torch.arange(len(export.tensors["t2d"])) < size


def _unmark(marks: Tensor) -> Tensor:
    """Lose every third mark, as a corpus with too few distinct tokens does."""
    marks[marks.nonzero().flatten()[::3]] = False
    return marks


def _swap_halves(export: Export) -> None:
    """Swap the columns for the embedding with those for the hidden state, in all that reads the pair."""
    for part in "qkv":
        name = f"midlayer.self_attn.{part}_proj.weight"
        export.tensors[name] = export.tensors[name].roll(export.tensors[name].shape[1] // 2, 1)


def _reverse_planes(weight: Tensor) -> Tensor:
    import torch

    return torch.cat(weight.chunk(3, dim=1)[::-1], dim=1)


def _overflow(weight: Tensor) -> Tensor:
    weight[0, weight[0].abs().argmax()] = float("inf")
    return weight


def _quantise(dtype: str, largest: int, **config: Any) -> Spoil:
    """Store every matrix in a narrow dtype with a scale for each row, as compressed-tensors and ModelOpt do."""

    def spoil(export: Export) -> None:
        import torch

        for name in [name for name, tensor in export.tensors.items() if tensor.ndim == 2]:
            weight = export.tensors[name].float()
            scale = weight.abs().amax(dim=1, keepdim=True) / largest
            scaled = weight / scale
            export.tensors[name] = (scaled if dtype.startswith("float") else scaled.round()).to(getattr(torch, dtype))
            export.tensors[f"{name}_scale"] = scale
        export.config |= config

    return spoil


PART_FAULTS: dict[str, Spoil] = {
    "checkpoint-ids-empty": _list_ids([], []),
    "checkpoint-ids-contradictory": _list_ids([3, 5, 6], [1, 3, 4]),
    "checkpoint-ids-twice": _list_ids([2, 4, 4], [1, 3, 3]),
    "checkpoint-ids-negative": _list_ids([-3, 4, 5], [-3, 3, 4]),
    "checkpoint-ids-of-a-deeper-target": _list_ids([2, 18, 33], [1, 17, 32]),
    "checkpoint-d2t-missing": _lose_map,
    "checkpoint-d2t-numbered": _number_map,
    "checkpoint-first-ids": _take_first_ids,
    "checkpoint-t2d-too-few": _change("t2d", _unmark),
    "checkpoint-overflow": _change("midlayer.mlp.down_proj.weight", _overflow),
    "checkpoint-quantised": _quantise(
        "float8_e4m3fn", 448, quantization_config={"quant_method": "compressed-tensors", "format": "float-quantized"}
    ),
    "checkpoint-quantised-unsaid": _quantise("int8", 127),
}
"""Of an export with drawn weights."""

RECORDED_PART_FAULTS: dict[str, Spoil] = {
    "checkpoint-halves-swapped": _swap_halves,
    "checkpoint-planes-of-fc-reversed": _change("fc.weight", _reverse_planes),
    "checkpoint-head-shards-swapped": _change("lm_head.weight", lambda head: head.roll(len(head) // 2, 0)),
}
"""Of an export of the recorded drafter, whose shapes and values show nothing."""
