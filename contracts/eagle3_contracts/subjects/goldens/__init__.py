"""Goldens: recordings that the repository brings along, read back with their integrity checked.

One folder for each version of a contract, ``golden/NAME/VERSION``: the target's weights, its recorded states, datasets
made from it, a drafter trained on it with what it drafts on the recorded sequences, and
``manifest.json``, which lists every file with its sha256.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.embedded import golden_root
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.evidence.drafts import RecordedDrafts
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.tensors import TensorFiles

MANIFEST = "manifest.json"
STATES = "states.safetensors"
DRAFTS = "drafts.safetensors"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Golden:
    """The recording of one version of a contract. See ``open_golden``."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def target(self) -> Path:
        """The folder with the target's config.json and weights."""
        return self.folder / "target"

    @property
    def datasets(self) -> dict[str, Path]:
        """The recorded datasets: format to folder."""
        root = self.folder / "datasets"
        return {path.name: path for path in sorted(root.iterdir()) if path.is_dir()} if root.is_dir() else {}

    @property
    def drafter(self) -> Path | None:
        """The folder with the drafter's config.json and weights, or None if none was recorded."""
        folder = self.folder / "drafter"
        return folder if folder.is_dir() else None

    def __len__(self) -> int:
        """Count the recorded sequences."""
        return len(self.manifest["sequences"])

    def states(self, number: int) -> ReferenceStates:
        """Read the recorded states of one sequence, widened from the dtype that the manifest gives for it."""
        files = TensorFiles([self.folder / STATES])
        read = (files.read(f"{number}.{part}") for part in ("boundaries", "final", "logits"))
        return ReferenceStates(np.asarray(self.manifest["sequences"][number]["token_ids"], np.int64), *read)

    def drafts(self, number: int) -> RecordedDrafts:
        """Read what the recorded drafter drafts on one sequence; ``KeyError`` for one too short to draft on."""
        from safetensors import safe_open

        with safe_open(self.folder / DRAFTS, "np") as file:
            names = ("drafted", "top_ids", "top_logits", "log_sum_exp")
            if f"{number}.drafted" not in file.keys():  # noqa: SIM118 (a handle, no mapping)
                raise KeyError(f"nothing is drafted on sequence {number}: it has a single token")
            return RecordedDrafts(*(file.get_tensor(f"{number}.{name}") for name in names))


def open_golden(name: str, version: str, root: Path | None = None) -> Golden:
    """Open a recording and check it: every listed file is there, unaltered, and no other file lies beside them.

    Raises ``SubjectError`` with all that is wrong and the command that restores it.
    """
    folder = (root or golden_root()) / name / version
    golden = Golden(folder, _read_manifest(folder))
    defects = list(find_defects(golden))
    if defects:
        reason = f"the recording is not what its manifest says: {'; '.join(defects)}"
        raise SubjectError(str(folder), reason, remedy=restore_command(folder))
    return golden


def find_defects(golden: Golden) -> Iterator[str]:
    """Say which files are missing, altered, or not in the manifest."""
    listed: Mapping[str, Any] = golden.manifest["files"]
    for name, entry in listed.items():
        path = golden.folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif file_digest(path) != entry["sha256"]:
            yield f"{name} was altered (its sha256 is not {entry['sha256'][:12]}...)"
    for path in sorted(golden.folder.rglob("*")):
        name = path.relative_to(golden.folder).as_posix()
        if path.is_file() and name not in listed and name != MANIFEST:
            yield f"{name} is not in {MANIFEST}"


def restore_command(folder: Path) -> str:
    """Say how a recording is restored: from git in a source tree, by reinstalling otherwise."""
    parts = folder.parts
    at = max((index for index, part in enumerate(parts) if part == "golden"), default=0)
    if "site-packages" in parts:
        return "pip install --force-reinstall --no-deps eagle3-contracts"
    inside = "/".join(parts[at:])
    return f"git restore --source=HEAD {inside} && git clean -f {inside}"


def file_digest(path: Path) -> str:
    """Give the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"there is no recording here: {MANIFEST} cannot be read ({error.strerror})"
        raise SubjectError(str(path), reason, remedy=restore_command(folder)) from None
    except ValueError as error:
        raise SubjectError(str(path), f"is no JSON: {error}", remedy=restore_command(folder)) from None
    if not isinstance(manifest, dict) or not {"schema", "files", "sequences"} <= manifest.keys():
        raise SubjectError(str(path), "is no manifest of a recording", remedy=restore_command(folder))
    if manifest["schema"] != SCHEMA:
        reason = f"is of schema {manifest['schema']!r}, this version reads {SCHEMA}"
        raise SubjectError(str(path), reason, remedy=restore_command(folder))
    return manifest


__all__ = ["DRAFTS", "Golden", "file_digest", "find_defects", "golden_root", "open_golden", "restore_command"]
