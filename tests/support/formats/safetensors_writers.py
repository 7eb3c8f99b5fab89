"""Safetensors files, and the Arrow dataset beside them, as vLLM, speculators and hs-connectors write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import torch
from safetensors.torch import save_file

from support.formats.samples import GoodSample
from support.formats.torch_writers import to_tensor


def write_vllm_connector(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading example_hidden_states_connector.py of vLLM 0.33; the lock file stays beside the last one."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for index, sample in enumerate(samples):
        path = folder / f"cmpl-{index:08x}-0.safetensors"
        save_file(_stacked(sample, dtype), path)
        paths.append(path)
    paths[-1].with_name(paths[-1].name + ".lock").touch()
    return paths


def write_speculators_arrow(folder: Path, samples: Sequence[GoodSample], dtype: str = "bfloat16") -> list[Path]:
    """Made from reading train/data.py (``ArrowDataset``) of speculators 0.9.0 and ``save_to_disk`` of datasets."""
    write_arrow(folder, samples)
    return _write_rows(folder, [_stacked(sample, dtype) for sample in samples])


def write_hs_connectors_fp8(folder: Path, samples: Sequence[GoodSample], dtype: str = "float8_e4m3fn") -> list[Path]:
    """Made from reading fp8_utils.py of hs-connectors 0.9.0: one factor per token over all its planes."""
    write_arrow(folder, samples)
    records = []
    for sample in samples:
        states = torch.from_numpy(sample.planes).transpose(0, 1).contiguous()
        scales = (states.abs().amax(dim=(1, 2), keepdim=True) / 448.0).clamp(min=1e-12)
        records.append(
            {
                "hidden_states": (states / scales).to(getattr(torch, dtype)),
                "hidden_states_scales": scales,
                "token_ids": torch.tensor(sample.token_ids, dtype=torch.int64),
            }
        )
    return _write_rows(folder, records)


def write_arrow(folder: Path, samples: Sequence[GoodSample]) -> None:
    """Write what ``save_to_disk`` writes: state.json, dataset_info.json, one Arrow stream."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table(
        {
            "input_ids": pa.array([list(sample.token_ids) for sample in samples], pa.list_(pa.int64())),
            "loss_mask": pa.array([list(sample.mask) for sample in samples], pa.list_(pa.int64())),
            "seq_len": pa.array([len(sample.token_ids) for sample in samples], pa.int64()),
        }
    )
    name = "data-00000-of-00001.arrow"
    with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    state = {"_data_files": [{"filename": name}], "_fingerprint": "0", "_format_type": "torch", "_split": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")


def _stacked(sample: GoodSample, dtype: str) -> dict[str, torch.Tensor]:
    states = torch.stack([to_tensor(plane, dtype) for plane in sample.planes], dim=1)
    return {"hidden_states": states, "token_ids": torch.tensor(sample.token_ids, dtype=torch.int64)}


def _write_rows(folder: Path, records: Sequence[dict[str, torch.Tensor]]) -> list[Path]:
    states = folder / "hidden_states"
    states.mkdir(parents=True, exist_ok=True)
    paths = []
    for index, record in enumerate(records):
        path = states / f"hs_{index}.safetensors"
        save_file(record, path)
        paths.append(path)
    return paths
