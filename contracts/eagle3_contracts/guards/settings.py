"""What the environment of a server says of its guard. Standard library only: every server process reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

CONTRACT = "EAGLE3_CONTRACT_GUARD"
MODE = "EAGLE3_CONTRACT_GUARD_MODE"
UNCHECKED = "EAGLE3_CONTRACT_GUARD_UNCHECKED"
VARIABLES = (CONTRACT, MODE, UNCHECKED)
"""The contract (NAME, NAME@VERSION or a path), ``refuse`` (default) or ``warn``, ``refuse`` (default) or ``serve``."""


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Which contract is guarded, and what becomes of a server that does not keep it.

    ``warns``: it is told and served. ``serves_unchecked``: it is served where the guard could not look.
    """

    contract: str
    warns: bool = False
    serves_unchecked: bool = False

    mode_variable: ClassVar[str] = MODE
    unchecked_variable: ClassVar[str] = UNCHECKED

    @property
    def refuses(self) -> bool:
        """Tell whether a violated must ends the start."""
        return not self.warns

    @property
    def refuses_unchecked(self) -> bool:
        """Tell whether what could not be checked ends the start."""
        return not (self.warns or self.serves_unchecked)


def read_guard_settings(environ: Mapping[str, str]) -> tuple[GuardSettings | None, str]:
    """Read the variables: settings (None: no guard is asked for), and what is wrong with them, or nothing.

    A variable that is set and empty is wrong, as is one that only refines a guard that no contract is named for. A
    mode that cannot be read refuses.
    """
    given = {name: environ[name].strip() for name in VARIABLES if name in environ}
    if not given:
        return None, ""
    wrong = [f"{name} is set, but empty" for name, value in given.items() if not value]
    if CONTRACT not in given:
        wrong.append(f"{', '.join(given)} is set without {CONTRACT}, which names the contract")
    mode, unchecked = given.get(MODE) or "refuse", given.get(UNCHECKED) or "refuse"
    if mode not in {"refuse", "warn"}:
        wrong.append(f"{MODE} is {mode[:40]!r}: write refuse or warn")
    if unchecked not in {"refuse", "serve"}:
        wrong.append(f"{UNCHECKED} is {unchecked[:40]!r}: write refuse or serve")
    found = GuardSettings(given.get(CONTRACT) or "(none named)", mode == "warn", unchecked == "serve")
    return found, "; ".join(wrong)
