"""Defects of a document: what they say, and how a table raises several at once."""

from __future__ import annotations

from dataclasses import dataclass

TOLD = 100
"""Defects in an error's text; a file with more is no contract, and ``ContractError.defects`` has them all."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with a document: the place in it, what stands there, what should."""

    place: str
    observed: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        """Give the defect as one line."""
        line = f"{self.place or 'document'}: expected {self.expected}, observed {self.observed}"
        return f"{line} ({self.hint})" if self.hint else line

    def within(self, place: str) -> Defect:
        """Give the defect as seen from outside the table at ``place``."""
        inner = ".".join(part for part in (place, self.place) if part)
        return Defect(inner, self.observed, self.expected, self.hint)

    def as_dict(self) -> dict[str, str]:
        """Give the defect as JSON-ready values."""
        return {"place": self.place, "observed": self.observed, "expected": self.expected, "hint": self.hint}


class TableError(ValueError):
    """Keys of a table that are valid alone and contradict each other."""

    def __init__(self, defects: tuple[Defect, ...]) -> None:
        self.defects = defects
        super().__init__("; ".join(str(defect) for defect in defects))


class ContractError(Exception):
    """A contract that cannot be used: the file, every defect at once, and the remedy. Exit code 2."""

    def __init__(self, source: str, reason: str, *, remedy: str, defects: tuple[Defect, ...] = ()) -> None:
        self.source, self.reason, self.remedy, self.defects = source, reason, remedy, defects
        told = [f"  - {defect}" for defect in defects[:TOLD]]
        told += [f"  - and {len(defects) - TOLD} more"] if len(defects) > TOLD else []
        lines = [f"{source}: {reason}", *told, f"  remedy: {remedy}"]
        super().__init__("\n".join(lines))

    def as_dict(self) -> dict[str, object]:
        """Give the error as JSON-ready values."""
        return {
            "source": self.source,
            "reason": self.reason,
            "defects": [defect.as_dict() for defect in self.defects],
            "remedy": self.remedy,
        }
