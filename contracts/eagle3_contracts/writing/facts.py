"""What a new contract rests on: each value with where it was found, or why it was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of the document: its place (``drafter.rope``), and where it comes from."""

    place: str
    value: Any
    origin: str

    def as_dict(self) -> dict[str, Any]:
        """Give the fact as JSON-ready values."""
        return {"place": self.place, "value": self.value, "origin": self.origin}


@dataclass(slots=True)
class Facts:
    """All values of a document that is being written, by place; the last word on a place counts.

    ``found``: read from a file, or measured, or a constant of the trainer's source. ``assumed``: taken for want of
    better, and written with a comment that says so. ``left_out``: what is known to nobody, with what would tell it.
    """

    found: dict[str, Fact] = field(default_factory=dict)
    assumed: dict[str, Fact] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def find(self, place: str, value: Any, origin: str) -> None:
        """Note a value that was found."""
        self.assumed.pop(place, None)
        self.found[place] = Fact(place, value, origin)

    def assume(self, place: str, value: Any, why: str) -> None:
        """Note a value that was assumed."""
        self.found.pop(place, None)
        self.assumed[place] = Fact(place, value, why)

    def value(self, place: str) -> Any:
        """Give the value of a place; ``KeyError`` if there is none."""
        return (self.found.get(place) or self.assumed[place]).value

    def document(self) -> dict[str, Any]:
        """Give the values as nested tables."""
        document: dict[str, Any] = {}
        for fact in (*self.found.values(), *self.assumed.values()):
            *path, last = fact.place.split(".")
            table = document
            for part in path:
                table = table.setdefault(part, {})
            table[last] = fact.value
        return document

    def remarks(self) -> Mapping[str, str]:
        """Give the comments of the written document, by place."""
        assumed = {place: f"assumed: {fact.origin}" for place, fact in self.assumed.items()}
        return assumed | {place: f"left out: {why}" for place, why in self.left_out.items()}
