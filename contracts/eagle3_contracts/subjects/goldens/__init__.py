"""Goldens: recordings that the repository brings along, read back with their integrity checked.

One folder for each version of a contract, ``golden/NAME/VERSION``: the target's weights, its recorded states, datasets
made from it, a drafter trained on it with what it drafts on the recorded sequences, and
``manifest.json``, which lists every file with its sha256.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.embedded import golden_root
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.evidence.drafts import RecordedDrafts
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.goldens.kept import TOP_PARTS, KeptLogits, dense_logits, spread_logits, top_logits
from eagle3_contracts.subjects.goldens.manifest import MANIFEST, SCHEMA
from eagle3_contracts.subjects.goldens.restoring import file_digest, restore_command
from eagle3_contracts.subjects.goldens.tensors import DRAFTS, STATES
from eagle3_contracts.subjects.targets.tensors import TensorFiles

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import GoldenEvidence


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
        """Read the recorded states of one sequence, widened from the dtype that the manifest gives for it.

        Where only the largest logits were kept, those are log-probabilities, and every other token has an equal share
        of the probability that remains: see ``logits``.
        """
        files = TensorFiles([self.folder / STATES])
        boundaries, final = (files.read(f"{number}.{part}") for part in ("boundaries", "final"))
        ids = self.token_ids(number)
        if f"{number}.logits" in files:
            return ReferenceStates(ids, boundaries, final, files.read(f"{number}.logits"))
        vocabulary = int(self.manifest["vocab_size"])
        return ReferenceStates(ids, boundaries, final, spread_logits(self.logits(number), vocabulary))

    def logits(self, number: int) -> KeptLogits:
        """Read the log-probabilities of the most likely tokens of one sequence, whichever way they were kept."""
        from safetensors import safe_open

        files = TensorFiles([self.folder / STATES])
        if f"{number}.logits" in files:
            return dense_logits(files.read(f"{number}.logits"))
        with safe_open(self.folder / STATES, "np") as file:
            ids, values, total = (file.get_tensor(f"{number}.{part}") for part in TOP_PARTS)
        return top_logits(ids, values, total)

    def token_ids(self, number: int) -> npt.NDArray[np.int64]:
        """Give the token ids of one sequence."""
        return np.asarray(self.manifest["sequences"][number]["token_ids"], np.int64)

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


def find_packaged(contract: Contract, root: Path | None = None) -> Golden | None:
    """Give the recording that the package brings along for this version of a contract, None if it brings none.

    ``Golden`` gives the sequences (``len``, ``token_ids``), the reference states, the logits in either form, and the
    drafts. Raises ``SubjectError`` for one that is damaged, or that was recorded for another document of this name and
    version: what is there and cannot be used is no reason to go on as if it were not.
    """
    folder = (root or golden_root()) / contract.name / contract.version
    if not folder.is_dir():
        return None
    golden = open_golden(contract.name, contract.version, root)
    said, digest = golden.manifest["contract"], golden.manifest.get("contract_digest", contract.digest)
    if (said, digest) != (contract.reference, contract.digest):
        reason = f"was recorded for {said}, digest {digest[:16]}; {contract.reference} has {contract.digest[:16]}"
        raise SubjectError(str(folder), reason, remedy=f"record it again: eagle3-contracts record {contract.name}")
    return golden


def gather(contract: Contract, subject: Subject, options: Options) -> GoldenEvidence:
    """Read a recording, ``subject.value`` its folder, and run its target and drafter again.

    The target is ``options.target``, else the one that lies in the recording. Nothing is raised for a recording that is
    missing or damaged: that is a problem of the evidence.
    """
    from eagle3_contracts.subjects.goldens.gathering import gather_evidence

    return gather_evidence(contract, subject, options)


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


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"there is no recording here: {MANIFEST} cannot be read ({error.strerror})"
        raise SubjectError(str(path), reason, remedy=restore_command(folder)) from None
    except ValueError as error:
        raise SubjectError(str(path), f"is no JSON: {error}", remedy=restore_command(folder)) from None
    if not isinstance(manifest, dict) or not {"schema", "contract", "files", "sequences"} <= manifest.keys():
        raise SubjectError(str(path), "is no manifest of a recording", remedy=restore_command(folder))
    if manifest["schema"] != SCHEMA:
        reason = f"is of schema {manifest['schema']!r}, this version reads {SCHEMA}"
        raise SubjectError(str(path), reason, remedy=restore_command(folder))
    return manifest


__all__ = [
    "DRAFTS",
    "MANIFEST",
    "SCHEMA",
    "STATES",
    "Golden",
    "KeptLogits",
    "file_digest",
    "find_defects",
    "find_packaged",
    "gather",
    "golden_root",
    "open_golden",
    "restore_command",
]
