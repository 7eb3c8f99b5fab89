"""Measure what the plugin adds to the start of pytest: paired runs with and without it, in alternation.

Run it by hand: ``python tests/benchmarks/start_up.py [PAIRS]``. The budget is 50 ms (median of the differences) for
a repository that holds no clauses; listing the whole suite is shown beside it. Processor time is what counts, since
wall time tells more of what else the machine does; on an idle machine the two agree.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUDGET_MS = 50.0
LOADED = ("-p", "eagle3_contracts.plugin")
BARE: tuple[str, ...] = ()


def time_run(folder: Path, arguments: tuple[str, ...]) -> float:
    """Give the processor time of one run in milliseconds; third-party plugins are left out of both sides."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3


def measure(folder: Path, pairs: int, with_plugin: tuple[str, ...], without: tuple[str, ...]) -> list[float]:
    """Give the differences of pairs of runs, the first pair dropped (it fills the caches)."""
    found = [time_run(folder, with_plugin) - time_run(folder, without) for _ in range(pairs + 1)]
    return found[1:]


def describe(name: str, differences: list[float]) -> str:
    """Give median and quartiles of the differences."""
    low, middle, high = statistics.quantiles(differences, n=4)
    return f"{name}: median {middle:.1f} ms, quartiles {low:.1f} to {high:.1f} ms, {len(differences)} pairs"


def main() -> int:
    """Measure, print, and fail if the plugin costs more than its budget."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")
        plain = measure(folder, pairs, (*LOADED, "test_own.py"), (*BARE, "test_own.py"))
        suite = ("--pyargs", "eagle3_contracts.suite", "--co", "--contract-subject=embedded")
        listing = measure(folder, pairs, (*LOADED, *suite), (*BARE, "--co", "test_own.py"))
    sys.stdout.write(describe("plugin, no clauses", plain) + "\n" + describe("listing the suite", listing) + "\n")
    return int(statistics.median(plain) > BUDGET_MS)


if __name__ == "__main__":
    sys.exit(main())
