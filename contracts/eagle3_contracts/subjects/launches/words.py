"""Words of a script in the making, the commands that they make up, and what no shell reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from eagle3_contracts.evidence import Word


class ShellError(Exception):
    """A script that no shell reads to its end: what is wrong, and the line in which it begins."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason, self.line = reason, line
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: its words, and the variables that are set when it runs, as far as they are known."""

    words: tuple[Word, ...]
    environment: dict[str, str]

    @property
    def line(self) -> int | None:
        """Where it begins."""
        return self.words[0].line if self.words else None


@dataclass(slots=True)
class Draft:
    """A word in the making."""

    text: str = ""
    line: int = 0
    begun: bool = False
    open: list[str] = field(default_factory=list)
