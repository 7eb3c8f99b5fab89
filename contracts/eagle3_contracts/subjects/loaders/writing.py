"""Writing samples in the formats that loaders read, with no more in a file than a loader asks for.

Only into folders of this package's own making. Where a format was read is told by each writer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects.loaders.protocol import StoredSample, Write
from eagle3_contracts.subjects.named_code import NeedsError

if TYPE_CHECKING:
    from torch import Tensor

_ARROW = "data-00000-of-00001.arrow"


def find_writer(dataset_format: str) -> Write | None:
    """Give the writer of a format, or None for one that is not written here."""
    return WRITERS.get(dataset_format)


def _write_v0(folder: Path, samples: Sequence[StoredSample], dtype: str) -> list[Path]:
    """Write what ``standardize_data_v0`` of speculators 0.3.0 reads (train/data.py)."""
    return [
        _save(
            folder / f"data_{index}.pt",
            {**_beside(sample), "hidden_state": _side_by_side(sample, dtype), "target": _planes(sample, dtype)[-1]},
        )
        for index, sample in enumerate(samples)
    ]


def _write_v1(folder: Path, samples: Sequence[StoredSample], dtype: str) -> list[Path]:
    """Write what ``standardize_data_v1`` of speculators 0.3 to 0.5 reads, and the lengths that 0.4 looks for."""
    lengths = {str(index): len(sample.tokens) for index, sample in enumerate(samples)}
    (folder / "sample_lengths.json").write_text(json.dumps(lengths), encoding="utf-8")
    return [
        _save(folder / f"data_{index}.pt", {**_beside(sample), "hidden_states": list(_planes(sample, dtype))})
        for index, sample in enumerate(samples)
    ]


def _write_specforge(folder: Path, samples: Sequence[StoredSample], dtype: str) -> list[Path]:
    """Write what SpecForge 0.1.0 and 0.2.0 read: data/preprocessing.py, runtime/data_plane/offline_reader.py."""
    below = folder / "rows_0-2000"
    below.mkdir()
    return [
        _save(
            below / f"data_{index}.ckpt",
            {
                **_beside(sample),
                "hidden_state": _planes(sample, dtype)[-1][None].clone(),
                "aux_hidden_state": _side_by_side(sample, dtype)[None],
            },
        )
        for index, sample in enumerate(samples)
    ]


def _write_arrow(folder: Path, samples: Sequence[StoredSample], dtype: str) -> list[Path]:
    """Write what ``ArrowDataset`` of speculators 0.5 to 0.9 reads: ``save_to_disk``'s files, and states beside them."""
    from safetensors.torch import save_file

    _write_arrow_rows(folder, samples)
    states = folder / "hidden_states"
    states.mkdir()
    paths = []
    for index, sample in enumerate(samples):
        path = states / f"hs_{index}.safetensors"
        tokens = sample.tokens if sample.state_tokens is None else sample.state_tokens
        stacked = _planes(sample, dtype).transpose(0, 1).contiguous()
        save_file({"hidden_states": stacked, "token_ids": _integers(tokens)}, path)
        paths.append(path)
    return paths


WRITERS: dict[str, Write] = {
    "speculators-v0": _write_v0,
    "speculators-v1": _write_v1,
    "speculators-arrow": _write_arrow,
    "specforge": _write_specforge,
}

TWICE = frozenset({"speculators-arrow"})
"""Formats that keep token ids twice: beside the states, and in the rows of the dataset."""


def _write_arrow_rows(folder: Path, samples: Sequence[StoredSample]) -> None:
    try:
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        reason = "writing an Arrow dataset for the loader needs pyarrow, which is not installed"
        raise NeedsError(reason, "pip install 'eagle3-contracts[arrow]'") from None
    table = pa.table(
        {
            "input_ids": pa.array([list(sample.tokens) for sample in samples], pa.list_(pa.int64())),
            "loss_mask": pa.array([list(sample.mask) for sample in samples], pa.list_(pa.int64())),
            "seq_len": pa.array([len(sample.tokens) for sample in samples], pa.int64()),
        }
    )
    with pa.OSFile(str(folder / _ARROW), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    state: dict[str, Any] = {
        "_data_files": [{"filename": _ARROW}],
        "_fingerprint": "0",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": "torch",
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")


def _beside(sample: StoredSample) -> dict[str, Any]:
    return {"input_ids": _integers(sample.tokens), "loss_mask": _integers(sample.mask)}


def _integers(values: Sequence[int]) -> Tensor:
    import torch

    return torch.tensor(list(values), dtype=torch.int64)


def _planes(sample: StoredSample, dtype: str) -> Tensor:
    """Give the planes [P, T, H] in the dtype that is stored."""
    import torch

    return torch.from_numpy(sample.planes).to(getattr(torch, dtype))


def _side_by_side(sample: StoredSample, dtype: str) -> Tensor:
    import torch

    return torch.cat(list(_planes(sample, dtype)[:-1]), dim=-1)


def _save(path: Path, record: dict[str, Any]) -> Path:
    import torch

    torch.save(record, path)
    return path
