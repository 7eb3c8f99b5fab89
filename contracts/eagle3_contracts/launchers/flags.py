"""The flags of each engine's server, release by release (``flags/ENGINE.txt``)."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Literal

from eagle3_contracts.dialects import find_tool

ENGINES = ("sglang", "vllm")
"""The engines whose command line was read."""

Kind = Literal["one", "many", "maybe", "switch", "loose"]
"""How many values a flag takes; ``loose``: it was not looked up, and what follows without a dash is its value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One name of a flag in a run of releases, ``first`` to ``last``.

    ``of``: the name that the newest release gives the same setting first. ``state``: ``retired`` still works, with a
    warning; ``gone`` has no effect, or stops the server with a message; else empty.
    """

    name: str
    kind: Kind
    first: str
    last: str
    state: str
    of: str

    def defined_in(self, release: str, releases: tuple[str, ...]) -> bool:
        """Tell whether one of the releases that were read defines it so."""
        return releases.index(self.first) <= releases.index(release) <= releases.index(self.last)


def releases_of(engine: str, versions: str = "") -> tuple[str, ...]:
    """Give the releases of an engine that were read, those within a range of versions, oldest first."""
    return find_tool(engine).releases(versions)


@cache
def find_flag(engine: str, written: str) -> tuple[Flag, ...]:
    """Give every run of releases that knows a flag as it is written; empty if none does.

    argparse takes the beginning of a name for the name where no other begins alike; vLLM also takes underscores for
    dashes, ``--no-NAME`` for a switch, and ``--NAME.KEY`` for one key of a table.
    """
    table = _table(engine)
    name = _spelled(engine, written)
    if name in table:
        return table[name]
    if engine == "vllm" and name.startswith("--no-") and f"--{name[5:]}" in table:
        return table[f"--{name[5:]}"]
    if not name.startswith("--") or len(name) < len("--x"):
        return ()
    names = _sorted_names(engine)
    longer = list(takewhile(lambda known: known.startswith(name), names[bisect_left(names, name) :]))
    settings = {flag.of for known in longer for flag in table[known]}
    return tuple(flag for known in longer for flag in table[known]) if len(settings) == 1 else ()


def names_in(engine: str, release: str) -> frozenset[str]:
    """Give the names of all flags that one release defines."""
    known = find_tool(engine).read
    return frozenset(flag.name for runs in _table(engine).values() for flag in runs if flag.defined_in(release, known))


def suggest_flag(engine: str, written: str) -> str:
    """Give the known flag that a mistyped one looks most like, or nothing."""
    return next(iter(difflib.get_close_matches(_spelled(engine, written), _table(engine), n=1, cutoff=0.8)), "")


def _spelled(engine: str, written: str) -> str:
    if engine != "vllm":
        return written
    return written.partition(".")[0].replace("_", "-")


@cache
def _sorted_names(engine: str) -> tuple[str, ...]:
    """Give the names in an order in which those with a common beginning stand together."""
    return tuple(sorted(_table(engine)))


@cache
def _table(engine: str) -> Mapping[str, tuple[Flag, ...]]:
    text = (files("eagle3_contracts.launchers") / "flags" / f"{engine}.txt").read_text(encoding="utf-8")
    found: dict[str, tuple[Flag, ...]] = {}
    for line in text.splitlines():
        if line.startswith("-"):
            name, kind, first, last, state, *alias = line.split()
            flag = Flag(name, kind, first, last, state.strip("-"), alias[0] if alias else name)  # type: ignore[arg-type]
            found[name] = (*found.get(name, ()), flag)
    return found
