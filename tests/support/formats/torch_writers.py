"""Files of ``torch.save`` as the tools write them; each made from reading the source named, not by the tool itself."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from support.formats.samples import GoodSample


def to_tensor(values: Any, dtype: str) -> torch.Tensor:
    """Give an array as a torch tensor of a dtype, rounded as torch rounds."""
    return torch.from_numpy(values).to(getattr(torch, dtype))


def side_by_side(sample: GoodSample, dtype: str) -> torch.Tensor:
    """Give all planes but the last, concatenated [T, k*H]."""
    return torch.cat([to_tensor(plane, dtype) for plane in sample.planes[:-1]], dim=-1)


def write_speculators_v0(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading train/data.py (``standardize_data_v0``) of speculators 0.3.0."""
    return [
        _save(folder / f"{index}.pt", _beside(sample) | {"hidden_state": side_by_side(sample, dtype), "target": last})
        for index, sample in enumerate(samples)
        for last in [to_tensor(sample.planes[-1], dtype)]
    ]


def write_speculators_v1(
    folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16", *, layer_ids: Sequence[int] | None = None
) -> list[Path]:
    """Made from reading train/data.py (``standardize_data_v1``) and config_generator.py of speculators 0.3.0 and 0.4.0.

    ``layer_ids`` go into data_config.json, which is left out without them.
    """
    paths = [
        _save(
            folder / f"data_{index}.pt",
            _beside(sample) | {"hidden_states": [to_tensor(plane, dtype) for plane in sample.planes]},
        )
        for index, sample in enumerate(samples)
    ]
    lengths = {str(index): len(sample.token_ids) for index, sample in enumerate(samples)}
    (folder / "sample_lengths.json").write_text(json.dumps(lengths), encoding="utf-8")
    if layer_ids is not None:
        config = {"speculators_version": "0.4.0", "hidden_states": {"layer_ids": list(layer_ids)}}
        (folder / "data_config.json").write_text(json.dumps(config), encoding="utf-8")
    return paths


def write_specforge(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading scripts/prepare_hidden_states.py of SpecForge 0.1.0 and offline_reader.py of 0.2.0."""
    return [
        _save(folder / "rows_0-2000" / f"data_{index}.ckpt", _specforge_record(sample, dtype))
        for index, sample in enumerate(samples)
    ]


def write_specforge_gz(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading data/preprocessing.py of SpecForge 0.2.0, which unpacks ``.ckpt.gz`` whole."""
    paths = []
    for index, sample in enumerate(samples):
        buffer = io.BytesIO()
        torch.save(_specforge_record(sample, dtype), buffer)
        path = folder / "rows_0-2000" / f"data_{index}.ckpt.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))
        paths.append(path)
    return paths


def write_modelopt(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading compute_hidden_states_hf.py and torch/speculative/utils.py of ModelOpt (December 2025)."""
    return [
        _save(
            folder / f"conversation-{index}.pt",
            {
                "input_ids": torch.tensor(sample.token_ids, dtype=torch.int64),
                "hidden_states": to_tensor(sample.planes[-1], dtype),
                "aux_hidden_states": side_by_side(sample, dtype),
                "conversation_id": f"conversation-{index}",
            },
        )
        for index, sample in enumerate(samples)
    ]


def write_tensorrt_llm(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading save_hidden_state.py of TensorRT-LLM: a list of samples per file, here two to a file."""
    records = [
        {
            "id": index + 1,
            "input_ids": torch.tensor(sample.token_ids, dtype=torch.int64),
            "hidden_state": to_tensor(sample.planes[-1], dtype),
        }
        | ({"aux_hidden_states": side_by_side(sample, dtype)} if len(sample.planes) > 1 else {})
        for index, sample in enumerate(samples)
    ]
    return [_save(folder / f"data_{start + 2}.pt", records[start : start + 2]) for start in range(0, len(records), 2)]


def write_angelslim(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading train/data/dataset_builder of AngelSlim: a batch axis on everything."""
    return [
        _save(
            folder / f"{index}.ckpt",
            {
                "input_ids": torch.tensor(sample.token_ids, dtype=torch.int64)[None],
                "loss_mask": torch.tensor(sample.mask, dtype=torch.int64)[None],
                "hidden_states": side_by_side(sample, dtype)[None],
                "target_hiddens": to_tensor(sample.planes[-1], dtype)[None],
            },
        )
        for index, sample in enumerate(samples)
    ]


def write_torchspec(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading torchspec/data (``OfflineEagle3Dataset``) of TorchSpec 6f21829."""
    return [
        _save(
            folder / f"sample_{index}.ckpt",
            _beside(sample)
            | {
                "hidden_states": to_tensor(sample.planes[-1], dtype)[None],
                "aux_hidden_states": side_by_side(sample, dtype)[None],
            },
        )
        for index, sample in enumerate(samples)
    ]


def write_torchspec_replay(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading torchspec/offline/dataset.py (schema version 1) of TorchSpec."""
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    (folder / "dataset.json").write_text('{"version": 1, "last_hidden_states_prenorm": true}', encoding="utf-8")
    return [
        _save(
            folder / "samples" / f"{index:040x}.pt",
            {
                "input_ids": torch.tensor(sample.token_ids, dtype=torch.int64)[None],
                "hidden_states": side_by_side(sample, dtype)[None],
                "last_hidden_states": to_tensor(sample.planes[-1], dtype)[None],
                "data_id": str(index),
                "packed_loss_mask": pack_mask(sample.mask),
                "metadata": {},
            },
        )
        for index, sample in enumerate(samples)
    ]


def pack_mask(mask: Sequence[int]) -> str:
    """Write a mask as run lengths that begin with zeros."""
    runs, value = [0], 0
    for entry in mask:
        if entry != value:
            runs.append(0)
            value = entry
        runs[-1] += 1
    return ",".join(str(run) for run in runs)


def _beside(sample: GoodSample) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor(sample.token_ids, dtype=torch.int64),
        "loss_mask": torch.tensor(sample.mask, dtype=torch.int64),
    }


def _specforge_record(sample: GoodSample, dtype: str) -> dict[str, torch.Tensor]:
    return _beside(sample) | {
        "hidden_state": to_tensor(sample.planes[-1], dtype)[None],
        "aux_hidden_state": side_by_side(sample, dtype)[None],
    }


def _save(path: Path, record: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(record, path)
    return path
