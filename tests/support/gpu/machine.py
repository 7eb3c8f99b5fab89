"""What a run on a GPU ran on and from: the device, the packages, the commit."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from eagle3_contracts.reports.evidence_file import Machine, Versions
from eagle3_contracts.subjects.servers.launching.device import TOOL, VISIBLE

FIELDS = "name,compute_cap,memory.total,driver_version"
MIB = 1024.0
WRITTEN_TO = "tests/live/gpu/evidence.json"
"""The evidence file, whose changes make no tree dirty."""


def read_machine(cuda: str | None) -> Machine:
    """Ask the driver's tool for the first device that is visible; ``cuda``: what torch was built for.

    Raises ``RuntimeError`` where torch was built for none, or the tool names no device.
    """
    if cuda is None:
        raise RuntimeError("torch is a build for CPUs here, so nothing ran on a GPU")
    first = os.environ.get(VISIBLE, "").split(",")[0].strip()
    lines = (_query("-i", first) if first else []) or _query()
    if not lines:
        raise RuntimeError(f"{TOOL} --query-gpu={FIELDS} names no device")
    name, capability, memory, driver = (part.strip() for part in lines[0].split(","))
    return Machine(
        device=name,
        capability=capability,
        memory_gib=round(float(memory.split()[0]) / MIB, 1),
        driver=driver,
        cuda=cuda,
    )


def read_versions() -> Versions:
    """Read what is installed; raise ``RuntimeError`` where a package is not."""
    names = ("eagle3-contracts", "sglang", "sglang-kernel", "torch", "transformers", "triton")
    try:
        found = {name.replace("-", "_"): version(name) for name in names}
    except PackageNotFoundError as error:
        raise RuntimeError(f"{error.name} is not installed: on a GPU SGLang runs with what it requires") from None
    return Versions(python=platform.python_version(), **found)


def read_commit(root: Path, given: str | None = None) -> tuple[str, bool]:
    """Give the commit, and whether files differ from it; ``given``: ``SHA`` or ``SHA-dirty``, where git has none."""
    if given is not None:
        return given.removesuffix("-dirty"), given.endswith("-dirty")
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", ".", f":(exclude){WRITTEN_TO}")
    if commit is None or changed is None:
        raise RuntimeError("git knows no commit of this tree; name it with --gpu-commit=SHA, or SHA-dirty")
    return commit, bool(changed)


def _query(*which: str) -> list[str]:
    tool = shutil.which(TOOL)
    if tool is None:
        return []
    command = [tool, f"--query-gpu={FIELDS}", "--format=csv,noheader", *which]
    found = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    lines = [line for line in found.stdout.splitlines() if line.count(",") == FIELDS.count(",")]
    return lines if found.returncode == 0 else []


def _git(root: Path, *words: str) -> str | None:
    tool = shutil.which("git")
    if tool is None:
        return None
    found = subprocess.run([tool, *words], cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() if found.returncode == 0 else None
