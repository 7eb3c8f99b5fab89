"""Dialects: a rule, and the tool, versions and architectures that it is the rule of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.resolution import Resolution
from eagle3_contracts.dialects.rule import Rule

Purpose = Literal["capture", "serve", "train"]
"""What planes a tool must give: ``capture`` those on disk, ``serve`` those fed to fc, ``train`` those fed to fc
while it runs the target itself and takes the final state from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool whose dialects stand in the table.

    ``read``: the versions whose source was read, oldest first (a revision for a tool without releases).
    ``takes``: the flag, argument or config key that carries the ids. ``dataset_format``: the format that a
    capture tool writes. ``purpose``: what its dialects are for.
    """

    name: str
    purpose: Purpose
    read: tuple[str, ...]
    takes: str
    dataset_format: str | None = None

    @property
    def last_read(self) -> str:
        """The newest version that was read."""
        return self.read[-1]

    @property
    def versioned(self) -> bool:
        """Tell whether the tool has releases; EAGLE and TorchSpec are used from their repositories."""
        return _is_version(self.last_read)

    def releases(self, versions: str) -> tuple[str, ...]:
        """Give the versions read that lie in a range; all of them for a tool without releases."""
        if not self.versioned:
            return self.read
        return tuple(version for version in self.read if lies_in(version, versions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one tool, in a range of versions and for some architectures, turns ids into taps.

    ``versions``: a PEP 440 range, empty for a tool without releases. ``architectures``: empty for all.
    ``setting``: the flag or engine that selects this dialect within the tool, if there are several;
    ``purpose``: what it is for, where that is not the tool's own.
    ``beside``: the final state that a capture tool stores unasked. ``source``: where the rule was read.
    """

    tool: Tool
    versions: str
    rule: Rule
    source: str
    architectures: tuple[str, ...] = ()
    setting: str = ""
    purpose: Purpose | None = None
    beside: Literal["pre_norm", "post_norm"] | None = None

    def resolve(self, ids: Sequence[int] | None, layers: int) -> Resolution:
        """Say what a list means for a target of that many layers; None is the absence of a list.

        Raises ``TypeError`` for an id that is no integer and ``ValueError`` for fewer than one layer: those
        are defects of the caller, not of the list.
        """
        if layers < 1:
            raise ValueError(f"{layers} layers: a target has at least one")
        if ids is not None and any(isinstance(value, bool) or not isinstance(value, int) for value in ids):
            raise TypeError(f"layer ids are integers, not {list(ids)!r}")
        return self.rule.resolve(None if ids is None else tuple(ids), layers)

    def reach(self, layers: int) -> tuple[Tap, ...]:
        """Give every tap that some list captures."""
        return self.rule.reach(layers)

    def covers(self, version: str | None) -> bool:
        """Tell whether a version lies in the range; without releases every version does."""
        if not self.tool.versioned:
            return True
        return version is not None and lies_in(version, self.versions)

    def applies_to(self, architecture: str) -> bool:
        """Tell whether an architecture's class is one that the rule was read for."""
        return not self.architectures or architecture in self.architectures

    @property
    def serves_for(self) -> Purpose:
        """What the dialect is for: its own purpose, else the tool's."""
        return self.purpose or self.tool.purpose

    @property
    def label(self) -> str:
        """Name the dialect: ``sglang >=0.5.13,<0.5.17``."""
        parts = (self.tool.name, self.versions or f"({self.tool.last_read})", self.setting)
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class NotVerified:
    """No dialect was read for what was asked; nothing may be derived from a neighbour unless one assumes it."""

    tool: str
    version: str | None
    architecture: str
    last_read: str
    reason: str

    def __str__(self) -> str:
        """Say it in one line: what was not verified, why, and what was read last."""
        asked = " ".join(part for part in (self.tool, self.version) if part)
        return f"not verified for {asked} with {self.architecture}, last read {self.last_read}: {self.reason}"


def lies_in(version: str, versions: str) -> bool:
    """Tell whether a version lies in a PEP 440 range; release candidates do as releases do."""
    return SpecifierSet(versions).contains(version, prereleases=True)


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
