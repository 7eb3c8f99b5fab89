"""What was read from a launch command: its arguments where they stand, and the configs that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eagle3_contracts.evidence.problem import Problem


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    ``line``: where it begins, from 1. ``open``: what in it is decided only when it runs: variables without a value
    here, and commands whose output it takes.
    """

    text: str
    line: int | None = None
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """A flag and its values.

    ``written``: the flag as it stands there; empty for a variable that may hold any arguments. ``name``: the first
    name of its setting, empty for a flag that no release knows. ``key``: of a table whose keys are given one by one
    (``--speculative-config.model``).
    """

    written: str
    name: str
    values: tuple[Word, ...] = ()
    line: int | None = None
    key: str = ""

    @property
    def open(self) -> tuple[str, ...]:
        """What in the values is decided only when the command runs."""
        return tuple(name for word in self.values for name in word.open)


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that the command names: as written; whether it is a folder here; its config.json if that was read.

    ``local``: the text is a path. ``missing``: it is a path, and there is nothing.
    """

    text: str
    argument: Argument
    local: bool = False
    missing: bool = False
    config: Mapping[str, Any] | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class LaunchEvidence:
    """One command that starts a server.

    ``source``: the file it stands in, empty for a command line. ``engine``: sglang or vllm. ``arguments``: in order.
    ``speculation``: vLLM's speculative config, put together of all flags that give it. ``strays``: words that belong
    to no flag. ``environment``: variables set beside the command. ``problems``: why there is no command to judge.
    ``drafter``: the one checkpoint that is checked along with the command, empty without one.
    """

    subject: str
    source: str = ""
    engine: str = ""
    line: int | None = None
    arguments: tuple[Argument, ...] = ()
    speculation: Mapping[str, Any] = field(default_factory=dict)
    strays: tuple[Word, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    target: NamedModel | None = None
    draft: NamedModel | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    drafter: str = ""

    def last(self, *names: str) -> Argument | None:
        """Give the argument that wins: the last of those names."""
        return next((item for item in reversed(self.arguments) if item.name in names and not item.key), None)
