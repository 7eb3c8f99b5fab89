"""Comparing two contracts: each change named, classified, and held against the version numbers.

How changes are found and classified: ``contract/changes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from eagle3_contracts.contract.changes import Change, Kind, list_changes
from eagle3_contracts.contract.document import Contract


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two contracts side by side. ``old`` and ``new`` are references, ``changes`` in the document's order."""

    old: str
    new: str
    changes: tuple[Change, ...]

    @property
    def kind(self) -> Kind | None:
        """The gravest kind of change, or None if nothing changed."""
        return next((kind for kind in Kind if any(change.kind is kind for change in self.changes)), None)

    @property
    def required_version(self) -> str | None:
        """The least version that the changes call for; None between contracts of different names."""
        (name, _, version), other = self.old.partition("@"), self.new.partition("@")[0]
        return next_version(version, self.kind) if name == other else None

    @property
    def version_suffices(self) -> bool | None:
        """Tell whether the new version number is high enough; None between contracts of different names."""
        required = self.required_version
        return None if required is None else Version(self.new.partition("@")[2]) >= Version(required)

    def as_dict(self) -> dict[str, Any]:
        """Give the comparison as JSON-ready values."""
        return {
            "old": self.old,
            "new": self.new,
            "kind": None if self.kind is None else str(self.kind),
            "required_version": self.required_version,
            "version_suffices": self.version_suffices,
            "changes": [change.as_dict() for change in self.changes],
        }


def next_version(version: str, kind: Kind | None) -> str:
    """Give the least version after ``version`` that a change of this kind calls for.

    Semantic versioning; before 1.0.0 a breaking change raises the second number.
    """
    major, minor, patch = (int(part) for part in version.split("."))
    if kind is Kind.BREAKING and major > 0:
        return f"{major + 1}.0.0"
    if kind is Kind.BREAKING or kind is Kind.COMPATIBLE:
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if kind is Kind.EDITORIAL else version


def compare_contracts(old: Contract, new: Contract) -> tuple[Change, ...]:
    """List the changes from one contract to the other; empty if they say the same, but for their version."""
    return list_changes(old, new)


def compare(old: Contract, new: Contract) -> Comparison:
    """Compare two contracts, version numbers included."""
    return Comparison(old.reference, new.reference, compare_contracts(old, new))
