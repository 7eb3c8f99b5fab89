"""Which files make a dataset: a walk in stable order that follows no link and opens nothing."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.stored import FoundFile

SAMPLE_SUFFIXES = (".ckpt.gz", ".ckpt", ".pt", ".safetensors")
"""The endings that the formats use; the longest first."""

_TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".incomplete", ".swp", "~")
_COMPANIONS = frozenset(
    {
        *("data_config.json", "sample_lengths.json", "state.json", "dataset_info.json", "dataset.json"),
        *("manifest.jsonl", "eagle3-contract.json"),
    }
)
"""Files that tools keep beside samples, and that are read as such (``neighbours``)."""

_VOCABULARY = re.compile(r"^(token_freq(_dict)?|d2t|t2d|vocab_mapping)\.pt$")
"""Vocabulary files beside the data: speculators (train/vocab_mapping.py), SpecForge (scripts/prepare_hidden_states.py),
AngelSlim (tools/generate_hidden_for_draft_model.py)."""


@dataclass(slots=True)
class Walk:
    """What lies under a dataset's folder. ``left_out``: how many files of which kind are no samples."""

    root: Path
    files: list[FoundFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what was left out, in one sentence."""
        if not self.left_out:
            return ()
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.left_out.items()))
        return (f"not read as samples: {kinds}",)


def printable(text: str) -> str:
    """Give a file's or tensor's name so that it can be printed: control characters and stray bytes escaped."""
    visible = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in visible)


def sample_suffix(name: str) -> str:
    """Give the ending a format would know the file by, ``.ckpt.gz`` in one piece; else the plain suffix."""
    return next((suffix for suffix in SAMPLE_SUFFIXES if name.endswith(suffix)), Path(name).suffix)


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort ``data_2`` before ``data_10``."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def walk_dataset(path: Path) -> Walk:
    """List the sample files under a folder, or the one file given. Nothing is opened.

    Links that leave the folder, loops, folders and pipes where files are expected are problems; hidden, lock and
    temporary files are counted in ``left_out``.
    """
    root = Path(os.path.realpath(path))
    walk = Walk(root if root.is_dir() else root.parent)
    if not root.is_dir():
        name = path.name or root.name
        walk.files.append(FoundFile(root, printable(name), sample_suffix(name), root.stat().st_size))
        return walk
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            reason = f"the folder cannot be listed: {error.strerror}"
            walk.problems.append(_problem("corrupt", reason, "make it readable", _relative(folder, root)))
            continue
        pending.extend(Path(entry.path) for entry in entries if _sort_entry(entry, walk))
    walk.files.sort(key=lambda found: natural_key(found.name))
    walk.problems.sort(key=lambda problem: natural_key(problem.where.file or ""))
    return walk


def _sort_entry(entry: os.DirEntry[str], walk: Walk) -> bool:
    """Put one directory entry where it belongs; tell whether it is a folder to walk into."""
    path = Path(entry.path)
    name = _relative(path, walk.root)
    suffix = sample_suffix(entry.name)
    if entry.is_symlink():
        walk.problems.extend(_check_link(path, name, walk))
        return False
    if entry.is_dir(follow_symlinks=False):
        if entry.name.startswith("."):
            walk.left_out["hidden folders"] += 1
            return False
        if suffix in SAMPLE_SUFFIXES:
            reason = f"a folder is named like a {suffix} file"
            walk.problems.append(_problem("unknown-format", reason, "rename or remove it", name))
        return True
    _sort_file(entry, name, suffix, walk)
    return False


def _sort_file(entry: os.DirEntry[str], name: str, suffix: str, walk: Walk) -> None:
    """Take a plain file as a sample or count it among those left out; what only looks like a sample is a problem."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError as error:
        walk.problems.append(_problem("corrupt", f"cannot be read: {error.strerror}", "make it readable", name))
        return
    if not stat.S_ISREG(facts.st_mode):
        if suffix in SAMPLE_SUFFIXES:
            reason = "is no plain file (a pipe, socket or device)"
            walk.problems.append(_problem("unknown-format", reason, "remove it from the dataset", name))
        return
    kind = _kind_left_out(entry.name, suffix)
    if not kind:
        walk.files.append(FoundFile(Path(entry.path), name, suffix, facts.st_size))
    elif entry.name not in _COMPANIONS and suffix != ".arrow":
        walk.left_out[kind] += 1


def _kind_left_out(name: str, suffix: str) -> str:
    """Say what kind of file this is if it is no sample, else nothing."""
    if name.endswith(".lock"):
        return "lock files"
    if name.endswith(_TEMPORARY):
        return "temporary files"
    if name.startswith("."):
        return "hidden files"
    if _VOCABULARY.match(name):
        return "vocabulary files"
    if suffix not in SAMPLE_SUFFIXES:
        return f"{printable(suffix)} files" if suffix else "files without a suffix"
    return ""


def _check_link(path: Path, name: str, walk: Walk) -> Iterator[Problem]:
    """Yield a problem for a link that leaves the folder or leads nowhere; count one that stays inside."""
    try:
        real = Path(os.path.realpath(path, strict=True))
    except OSError as error:
        yield _problem("missing", f"a link that leads nowhere: {error.strerror}", "remove or mend the link", name)
        return
    if real == walk.root or walk.root in real.parents:
        walk.left_out["links to what the folder holds anyway"] += 1
        return
    yield _problem(
        "unsafe",
        f"a link that leaves the dataset's folder, to {printable(str(real))}",
        "copy the files in (cp -L), or give the folder that really holds them",
        name,
    )


def _relative(path: Path, root: Path) -> str:
    return printable(path.relative_to(root).as_posix())


def _problem(kind: str, reason: str, remedy: str, name: str) -> Problem:
    return Problem(kind, reason, remedy, Where(file=name))
