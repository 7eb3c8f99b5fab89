"""The models that a command names, and the config.json of those that are folders here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from eagle3_contracts.evidence import Argument, NamedModel, Problem
from eagle3_contracts.findings import Where

MOST_BYTES = 4 << 20
"""A config.json beyond this is not read."""
_REMEDY = "name the folder that holds config.json and the weights"


def look_at_model(argument: Argument, text: str, folders: tuple[Path, ...]) -> NamedModel:
    """Say what a model's name is; read its config.json if it is a folder, from one of these folders if relative."""
    if argument.open or not text:
        return NamedModel(text, argument)
    spelled = text.startswith(("/", "./", "../", "~"))
    for folder in folders:
        try:
            path = folder / Path(text).expanduser()
            if path.is_dir():
                config, problem = _read_config(path)
                return NamedModel(text, argument, local=True, config=config, problem=problem)
        except (OSError, ValueError, RuntimeError):  # the last: no such home
            continue
    return NamedModel(text, argument, local=spelled, missing=spelled)


def _read_config(folder: Path) -> tuple[dict[str, Any] | None, Problem | None]:
    path = folder / "config.json"
    where = Where(file=str(path))
    if not path.is_file():
        return None, Problem("missing", "the folder is there, but no file config.json in it", _REMEDY, where)
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        reason = f"the folder is there, but its config.json cannot be read: {error.strerror}"
        return None, Problem("missing", reason, _REMEDY, where)
    if len(data) > MOST_BYTES:
        return None, Problem("unsupported", f"config.json is larger than {MOST_BYTES:,} bytes", "name another", where)
    try:
        config = json.loads(data)
    except (ValueError, RecursionError) as error:
        return None, Problem("corrupt", f"config.json is no JSON: {error}", "write it again", where)
    if not isinstance(config, dict):
        return None, Problem("corrupt", "config.json holds no table", "write it again", where)
    return config, None
