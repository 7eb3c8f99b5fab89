"""How counts and lists are put into words, the same in every message."""

from __future__ import annotations

from collections.abc import Iterable


def say_count(count: int, noun: str) -> str:
    """Say a number of things: ``1 sample``, ``6,292 rows``, ``2 mask entries``."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {plural}"


def say_planes(names: Iterable[str]) -> str:
    """Name planes: ``plane low``, ``planes low, mid``."""
    told = list(names)
    return f"plane{'s' if len(told) > 1 else ''} {', '.join(told)}"
