"""What a checkpoint's files say of the contract that they were made by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eagle3_contracts.contract.stamp import STAMP_FILE, STAMP_KEY
from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.agreement import read_config


def read_stamps(
    root: Path, config: Mapping[str, Any], metadata: Mapping[str, Mapping[str, str]], problems: list[Problem]
) -> dict[str, Any]:
    """Give every stamp by the file that holds it; one that cannot be read is kept as the text that it is."""
    stamps: dict[str, Any] = {}
    if STAMP_KEY in config:
        stamps["config.json"] = config[STAMP_KEY]
    stamps |= {file: _parse(table[STAMP_KEY]) for file, table in metadata.items() if STAMP_KEY in table}
    beside = root / STAMP_FILE
    if beside.is_file() and not beside.is_symlink():
        try:
            stamps[STAMP_FILE] = read_config(beside)
        except SubjectError as error:
            remedy = "remove it, or stamp the checkpoint again"
            problems.append(Problem("stamp", error.reason, remedy, Where(file=STAMP_FILE)))
    return stamps


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
