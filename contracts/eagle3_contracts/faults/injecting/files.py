"""What is done to a dataset's files after they were written."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from pathlib import Path

_SPOILED = "data_2.pt"


class CodeOnLoading:
    """Pickles to a call of ``print``: harmless, and as much code as ``os.system`` to whoever unpickles it."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this file ran code when it was loaded",)


def add_code(folder: Path) -> None:
    """Replace one file's pickle by one that calls a function."""
    path = folder / _SPOILED
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(
                name, pickle.dumps({"input_ids": CodeOnLoading()}, 2) if name.endswith("data.pkl") else data
            )


def truncate(folder: Path) -> None:
    """Keep the first half of one file."""
    path = folder / _SPOILED
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def rename_keys(folder: Path) -> None:
    """Write one file with the name that another version of the tool gives its states."""
    import torch

    path = folder / _SPOILED
    record = torch.load(path, weights_only=True)
    record["base_model_hidden_states"] = record.pop("hidden_states")
    torch.save(record, path)


def declare_default_ids(folder: Path) -> None:
    """Write beside the files that they hold the default layer ids of speculators 0.4: 2, n//2, n-3, n-1 of n = 8."""
    config = {"speculators_version": "0.4.0", "hidden_states": {"layer_ids": [2, 4, 5, 7]}}
    (folder / "data_config.json").write_text(json.dumps(config), encoding="utf-8")


def copy_sample(folder: Path) -> None:
    """Store one sample a second time, under the next name."""
    shutil.copy(folder / _SPOILED, folder / f"data_{len(list(folder.glob('data_*.pt')))}.pt")
