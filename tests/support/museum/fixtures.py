"""What a suite for these drafters must tell apart, and where it is shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fixture:
    """``faults``: by id. ``tests``: sound cases, or what is shown elsewhere, as ``path::name``.

    ``left_out``: why there is neither.
    """

    what: str
    faults: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    left_out: str = ""


FIXTURES: dict[str, Fixture] = {}
