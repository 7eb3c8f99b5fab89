"""The models that a server names, and their config.json where the path that it gives leads to one on this machine."""

from __future__ import annotations

from pathlib import Path

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedModel
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.agreement import read_config


def look_at_model(path: str) -> ServedModel:
    """Give the model of that name. A relative path is the server's own affair: its working directory is not known."""
    folder = model_folder(path)
    if folder is None:
        return ServedModel(path)
    try:
        return ServedModel(path, read_config(folder / "config.json"))
    except SubjectError as error:
        return ServedModel(path, problem=Problem("target", f"{error.source}: {error.reason}", error.remedy))


def model_folder(path: str) -> Path | None:
    """Give the folder that a server's absolute path names, if it is one on this machine and holds a config.json."""
    try:
        folder = Path(path)
        found = folder.is_absolute() and (folder / "config.json").is_file()
    except (OSError, ValueError):
        return None
    return folder if found else None
