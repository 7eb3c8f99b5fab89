"""Writing a recording's files: each to a sibling first, then by rename, so that none is ever half there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.subjects.goldens.kept import DENSE_VOCABULARY, TOP_PARTS, cut_logits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

Sample = tuple[ReferenceStates, tuple[int, ...]]
"""A dataset sample: the target's states of its tokens, and its loss mask."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a sibling of the same name in a scratch folder to write to; rename it to ``path`` if all went well.

    The name stays because torch.save stores it inside the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.parent / f".recording-{os.getpid()}"
    scratch.mkdir()
    try:
        yield scratch / path.name
        (scratch / path.name).replace(path)
    finally:
        (scratch / path.name).unlink(missing_ok=True)
        scratch.rmdir()


def write_states(path: Path, recorded: Iterable[tuple[ReferenceStates, Literal["float32", "bfloat16"]]]) -> None:
    """Write the states of all sequences into one safetensors file, each in its dtype.

    Of a vocabulary beyond ``DENSE_VOCABULARY`` the largest logits are kept with the log-sum-exp over all, in float32.
    """
    import torch
    from safetensors.torch import save_file

    tensors: dict[str, Tensor] = {}
    for number, (states, dtype) in enumerate(recorded):
        parts = {"boundaries": states.boundaries, "final": states.final}
        if states.logits.shape[-1] <= DENSE_VOCABULARY:
            parts["logits"] = states.logits
        else:
            kept = zip(TOP_PARTS, cut_logits(states.logits), strict=True)
            tensors |= {f"{number}.{part}": torch.from_numpy(values) for part, values in kept}
        tensors |= {f"{number}.{part}": _tensor(values, dtype) for part, values in parts.items()}
    with replacing(path) as scratch:
        save_file(tensors, scratch)


def write_datasets(folder: Path, contract: Contract, samples: Iterable[Sample]) -> None:
    """Write the samples in every recorded format, ``folder/FORMAT``, with that format's planes."""
    for number, (states, mask) in enumerate(samples):
        for dataset_format, write in WRITERS.items():
            planes = [_plane(states, plane, contract) for plane in contract.stored_planes(dataset_format)]
            write(folder / dataset_format, number, states, mask, planes)


def _write_speculators_v1(
    folder: Path, number: int, states: ReferenceStates, mask: tuple[int, ...], planes: list[Tensor]
) -> None:
    """One ``data_{i}.pt`` with a list of planes [S, H], the last one pre-norm (read in speculators 0.3 to 0.5)."""
    _save(folder / f"data_{number}.pt", {**_ids(states, mask), "hidden_states": planes})


def _write_specforge(
    folder: Path, number: int, states: ReferenceStates, mask: tuple[int, ...], planes: list[Tensor]
) -> None:
    """One ``data_{i}.ckpt`` with auxiliary planes [1, S, 3H] and the post-norm last state (read in SpecForge 0.2.0)."""
    import torch

    aux = torch.cat(planes[:-1], dim=-1).unsqueeze(0)
    values = {**_ids(states, mask), "aux_hidden_state": aux, "hidden_state": planes[-1].unsqueeze(0)}
    _save(folder / "rows_0-2000" / f"data_{number}.ckpt", values)


def _write_vllm_connector(
    folder: Path, number: int, states: ReferenceStates, _: tuple[int, ...], planes: list[Tensor]
) -> None:
    """One ``{request}.safetensors`` with planes [T, k, H], the last one pre-norm, no mask (read in vLLM 0.33)."""
    import torch
    from safetensors.torch import save_file

    tensors = {"hidden_states": torch.stack(planes, dim=1), "token_ids": torch.from_numpy(states.token_ids)}
    with replacing(folder / f"{number}.safetensors") as scratch:
        save_file(tensors, scratch)


WRITERS: Mapping[str, Callable[[Path, int, ReferenceStates, tuple[int, ...], list[Tensor]], None]] = {
    "speculators-v1": _write_speculators_v1,
    "specforge": _write_specforge,
    "vllm-connector": _write_vllm_connector,
}
"""The recorded formats. Made from reading the tools' sources, not by the tools."""


def _plane(states: ReferenceStates, plane: Plane, contract: Contract) -> Tensor:
    values = states.final if plane.state == "post_norm" else states.boundaries[plane.boundary]
    return _tensor(values, contract.storage.dtype or contract.target.dtype)


def _ids(states: ReferenceStates, mask: tuple[int, ...]) -> dict[str, Tensor]:
    import torch

    return {"input_ids": torch.from_numpy(states.token_ids), "loss_mask": torch.tensor(mask, dtype=torch.int64)}


def _save(path: Path, values: dict[str, Any]) -> None:
    import torch

    with replacing(path) as scratch:
        torch.save(values, scratch)


def _tensor(values: Array, dtype: str) -> Tensor:
    import torch

    return torch.from_numpy(values).to(getattr(torch, dtype)).contiguous().clone()
