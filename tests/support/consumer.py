"""A consumer's repository: a contract, capture code good and bad, and runs of pytest in a process of their own."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import eagle3_contracts
from eagle3_contracts.registry import STAGES, clauses_of

CONTRACT = """
schema = 1
name = "toy"
version = "1.0.0"
summary = "A toy."
[target]
model = "toy"
architecture = "Toy"
hidden_size = 8
num_hidden_layers = 8
vocab_size = 64
dtype = "float32"
norm = { eps = 1e-5 }
[[planes]]
name = "low"
boundary = 2
norm = { median = [1.0, 1000.0], origin = "chosen" }
[[planes]]
name = "mid"
boundary = 4
[[planes]]
name = "high"
boundary = 5
[storage]
planes = ["low", "mid", "high"]
[drafter]
input = ["low", "mid", "high"]
hidden_size = 8
attention = { kind = "gqa", heads = 2, kv_heads = 1, head_dim = 4 }
intermediate_size = 16
draft_vocab_size = 64
d2t = "none"
embedding = "own"
lm_head = "own"
fc = {}
rope = { theta = 10000.0 }
max_position = 128
[tolerance.float32]
relative_l2_median = 1e-4
logprob_max = 1e-3
origin = "chosen"
"""

CAPTURES = '''
"""Capture code under test: planes that depend on the tokens so far, and ways to get them wrong."""

import numpy as np

with open("imported.txt", "a") as log:
    log.write("x")


def planes(tokens):
    waves = np.sin(np.outer(np.asarray(tokens) + 1, np.arange(1, 9)))
    rows = np.cumsum(waves, axis=0) + 3.0
    return np.stack([rows, rows * 2, rows * 3]).astype(np.float32)


def good(tokens):
    return planes(tokens)


def loud(tokens):
    return planes(tokens) * np.float32(1e4)


def broken(tokens):
    found = planes(tokens)
    found[1, 2, 3] = np.nan
    return found


def crashing(tokens):
    raise RuntimeError("no such layer")
'''

GOOD, LOUD, BROKEN, CRASHING = (f"captures.py:{name}" for name in ("good", "loud", "broken", "crashing"))


INSTALLED = (*sysconfig.get_paths().values(), str(Path(eagle3_contracts.__file__).parent))
"""Where modules lie that several runs share."""


class ImportKeeper:
    """Remembers what runs in this process imported: pytester forgets it, and numpy cannot be imported twice."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        """Take what the run imported (a hook of the inner run)."""
        self.modules |= sys.modules

    def put_back(self) -> None:
        """Make known again what is installed; modules of a test's own folder stay forgotten."""
        for name, module in self.modules.items():
            if str(getattr(module, "__file__", None)).startswith(INSTALLED):
                sys.modules.setdefault(name, module)


KEEPER = ImportKeeper()


class Consumer:
    """A repository that uses the suite."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        pytester.makefile(".toml", own=CONTRACT)
        pytester.makepyfile(captures=CAPTURES)
        pytester.makeini("[pytest]\nfilterwarnings = error\n")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest with these arguments, in this process."""
        result = self.pytester.runpytest_inprocess("-p", "no:cacheprovider", "-ra", *arguments, plugins=[KEEPER])
        KEEPER.put_back()
        return result

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, where nothing was imported before."""
        return self.pytester.runpytest_subprocess("-p", "no:cacheprovider", "-ra", *arguments)

    def check(self, *arguments: str) -> pytest.RunResult:
        """Run the suite from the installed package."""
        return self.run("--pyargs", "eagle3_contracts.suite", *arguments)

    def check_capture(self, capture: str, *arguments: str) -> pytest.RunResult:
        """Run the suite's capture stage on a capture, against the consumer's contract."""
        return self.check("-k", "capture", "--contract", "own.toml", "--contract-capture", capture, *arguments)

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """Run the capture stage and give the findings of its JSON report."""
        self.run(*arguments, "--contract-report", "report.json")
        found: list[dict[str, Any]] = json.loads((self.path / "report.json").read_text(encoding="utf-8"))["findings"]
        return found


def said(result: pytest.RunResult) -> str:
    """Give all that a run printed, as one line of words."""
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def count(*stages: str) -> int:
    """Count the clauses of these stages, or of all."""
    return sum(len(clauses_of(stage)) for stage in stages or STAGES)
