"""Expected failures: violations that a project knows of, in ``[tool.eagle3-contracts.expected]``.

Standard library only. Each is named by clause id and carries a reason and a link; it is strict, so the day the
clause holds, the entry must go::

    [tool.eagle3-contracts.expected]
    "dataset.norm-range" = { reason = "measured before the rescale", link = "https://…", subject = "run-17" }
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from eagle3_contracts.registry import CLAUSES
from eagle3_contracts.testing.settings import SettingError

TABLE = "[tool.eagle3-contracts.expected]"
_KEYS = {"reason", "link", "subject"}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expected failure. ``subject``: the label it is about; None for every subject."""

    clause: str
    reason: str
    link: str
    subject: str | None = None

    def covers(self, clause: str, subject: str) -> bool:
        """Tell whether this expectation is about that clause on that subject."""
        return self.clause == clause and self.subject in {None, subject}

    def __str__(self) -> str:
        """Give the reason with its link."""
        return f"{self.reason} ({self.link})"


def read_expectations(folder: Path) -> tuple[Expectation, ...]:
    """Read a project's expected failures; raise ``SettingError`` for an unknown clause or a missing reason or link."""
    path = folder / "pyproject.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path}: cannot be read: {error}") from None
    table = values.get("tool", {}).get("eagle3-contracts", {}).get("expected", {})
    if not isinstance(table, dict):
        raise SettingError(f"{path}: {TABLE} is no table; write one line per clause id")
    return tuple(
        _read_entry(path, clause, entry)
        for clause, entries in table.items()
        for entry in (entries if isinstance(entries, list) else [entries])
    )


def _read_entry(path: Path, clause: str, entry: object) -> Expectation:
    place = f"{path}: {TABLE} {clause!r}"
    if clause not in {item.id for item in CLAUSES}:
        raise SettingError(f"{place}: no such clause; `eagle3-contracts list --clauses` lists them")
    if not isinstance(entry, dict) or not all(isinstance(value, str) and value.strip() for value in entry.values()):
        raise SettingError(f'{place}: write {{ reason = "…", link = "…" }}, all of them text that says something')
    missing = sorted({"reason", "link"} - entry.keys())
    strange = sorted(entry.keys() - _KEYS)
    if missing or strange:
        wrong = f"lacks {' and '.join(missing)}" if missing else f"has no use for {', '.join(strange)}"
        raise SettingError(f"{place}: {wrong}; an expected failure has a reason, a link and perhaps a subject")
    return Expectation(clause, entry["reason"], entry["link"], entry.get("subject"))
