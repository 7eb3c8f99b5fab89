"""Try a sample of mutants of ``clauses``, ``dialects`` and ``numerics`` with mutmut.

mutmut finds a package in ``src`` only, so the tree is laid out anew in a scratch folder, where ``contracts`` is called
``src``. Each mutant is tried in a process of its own, by the tests that reach its function, the quickest first, until
one fails: those that judge evidence which no running subject gave (``TESTS``). Module constants, properties and what
is decorated (the checks of the ``server`` stage) are not mutated.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "eagle3_contracts"
SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/{package}/clauses/*", "src/{package}/dialects/*", "src/{package}/numerics.py"]
also_copy = ["conftest.py", "contracts", "golden", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "tox.ini"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
pytest_add_cli_args_test_selection = {tests}
process_isolation = "forkserver"
timeout_multiplier = 4.0
timeout_constant = 30.0
use_git_change_detection = false
"""
TESTS = (
    "tests/unit/clauses",
    "tests/unit/dialects",
    "tests/unit/contract",
    "tests/unit/launches",
    "tests/unit/consumers",
    "tests/unit/test_numerics.py",
    "tests/unit/targets/test_distances.py",
    "tests/properties/test_dialects.py",
)
"""What is quick. ``tests/faults`` and others that gather evidence are left out, since they take minutes."""

WHOLE = 300
"""A part with no more mutants than this is tried as a whole."""

KILLED = ("killed", "timeout")
"""Statuses of mutmut that count as killed: a test failed, or none came to an end."""


class TrialError(RuntimeError):
    """mutmut is not installed, or its run on the unchanged tree failed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Statuses of the mutants that were tried, by name; the diffs of those that lived; how many there are in all."""

    statuses: dict[str, str]
    diffs: dict[str, str]
    mutants: int

    @property
    def survivors(self) -> list[str]:
        """Name what no test failed on, or what no test reaches."""
        return [name for name, status in self.statuses.items() if status not in KILLED]


def try_mutants(work: Path, *, sample: int, seed: int, children: int, only: Sequence[str] = ()) -> Trial:
    """Try a random sample, or those named, in a scratch folder ``work``. Raises ``TrialError``."""
    lay_out(work)
    names = list_mutants(work)
    chosen = list(only) or draw(names, sample, seed)
    _mutmut(work, "run", "--max-children", str(children), *chosen, quiet=False)
    statuses = dict(_read_statuses(work))
    tried = {name: statuses[name] for name in chosen}
    trial = Trial(tried, {}, len(names))
    return replace(trial, diffs={name: _mutmut(work, "show", name) for name in trial.survivors})


def draw(names: Sequence[str], sample: int, seed: int) -> list[str]:
    """Draw a random sample of names, and add every one of a part that has a few hundred at most."""
    drawn = set(random.Random(seed).sample(list(names), min(sample, len(names))))  # noqa: S311
    sizes = Counter(name.split(".")[1] for name in names)
    return [name for name in names if name in drawn or sizes[name.split(".")[1]] <= WHOLE]


def name_commit() -> str:
    """Name the commit that is checked out, with a plus sign if files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=7", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def lay_out(work: Path) -> None:
    """Copy what git tracks, with ``contracts`` as ``src``; a folder that holds a tree already is brought up to date."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    tracked = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    for name in filter(None, tracked.split("\0")):
        source, parts = ROOT / name, Path(name).parts
        target = work.joinpath(*("src" if parts[0] == "contracts" else parts[0], *parts[1:]))
        if source.is_file() and (not target.is_file() or target.read_bytes() != source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    if not (work / "contracts").exists():
        (work / "contracts").symlink_to("src")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tests = "[" + ", ".join(f'"{item}"' for item in TESTS) + "]"
    (work / "pyproject.toml").write_text(project + SETTINGS.format(package=PACKAGE, tests=tests), encoding="utf-8")


def list_mutants(work: Path) -> list[str]:
    """Make all mutants, and name them in order; on the way the tests run once, which tells what reaches what."""
    _mutmut(work, "run", f"{PACKAGE}.numerics.*__mutmut_1", quiet=False)
    return sorted(name for name, _ in _read_statuses(work))


def _read_statuses(work: Path) -> Iterator[tuple[str, str]]:
    for line in _mutmut(work, "results", "--all", "true").splitlines():
        name, _, status = line.strip().rpartition(": ")
        if name.startswith(f"{PACKAGE}."):
            yield name, status


def _mutmut(work: Path, *arguments: str, quiet: bool = True) -> str:
    program = Path(sys.executable).with_name("mutmut")
    if not program.is_file():
        msg = "mutmut is not installed beside this Python; run `tox -e mutants`"
        raise TrialError(msg)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "mutants"}
    ran = subprocess.run(  # noqa: S603
        [str(program), *arguments],
        cwd=work,
        env=environment,
        check=False,
        stdout=subprocess.PIPE if quiet else sys.stderr,
        stderr=subprocess.STDOUT if quiet else sys.stderr,
        text=True,
    )
    if ran.returncode != 0:
        msg = f"mutmut {arguments[0]} ended with {ran.returncode} in {work}:\n{(ran.stdout or '')[-3000:]}"
        raise TrialError(msg)
    return ran.stdout or ""
