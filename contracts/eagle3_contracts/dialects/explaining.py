"""A contract in every dialect: the ids that each tool must be given, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from eagle3_contracts.dialects.dialect import Dialect, Tool, lies_in
from eagle3_contracts.dialects.inverse import Inverse, invert
from eagle3_contracts.dialects.table import TOOLS, dialects_of, unread_releases
from eagle3_contracts.dialects.wanted import meets, unread_part, wanted_of

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

Row = dict[str, Any]
NO_LIST = "it takes no ids, and captures just this"


def explain(contract: Contract) -> dict[str, Any]:
    """Say what a contract means in every dialect, as JSON-ready values.

    ``boundaries``: plane to boundary. ``drafter_input``: boundaries in the order of concatenation.
    ``dialects``: one row per tool, setting and range of versions. A row's ``ids`` are what the tool must be
    given (null: none), ``alternatives`` all other lists that mean the same, ``stable`` the list that means it
    in all versions that the contract serves (in all that were read, if it serves none of the tool), or null.
    ``purpose``: ``serve`` and ``train`` rows give drafter.input, ``capture`` rows the stored planes.
    ``default``: leaving the ids out means it too. ``served``: the row's versions meet the contract's.
    ``reason``: why there are no ids, or what to mind.
    """
    return {
        "contract": contract.reference,
        "boundaries": {plane.name: plane.boundary for plane in contract.planes},
        "drafter_input": [plane.boundary for plane in contract.select(contract.drafter.input)],
        "dialects": [row for tool in TOOLS for row in explain_tool(contract, tool)],
    }


def explain_tool(contract: Contract, tool: Tool) -> Iterator[Row]:
    """Give one tool's rows of ``explain``: each setting in each range of versions, and what lies outside those read."""
    architecture = contract.target.architecture
    engines = contract.serving.engines if contract.serving is not None else {}
    served = engines.get(tool.name)
    dialects = tuple(dialects_of(tool, architecture))
    if not dialects:
        reason = f"not verified: the rule for {architecture} was not read, last read {tool.name} {tool.last_read}"
        yield _row(tool, architecture, served=served is not None, reason=reason)
        return
    for setting in dict.fromkeys(dialect.setting for dialect in dialects):
        segments = tuple(dialect for dialect in dialects if dialect.setting == setting)
        yield from _merge(_explain_dialect(contract, dialect, segments, served) for dialect in segments)
    missing = unread_releases(tool, architecture)
    if missing:
        reason = f"not verified: the rule for {architecture} was not read in {tool.name} {', '.join(missing)}"
        meets_served = served is not None and any(lies_in(release, served) for release in missing)
        yield _row(tool, architecture, versions=", ".join(missing), served=meets_served, reason=reason)
    unread = unread_part(tool, served) if served is not None and tool.versioned else ""
    if unread:
        reason = f"not verified for {unread}, last read {tool.last_read}: the contract serves {served}"
        yield _row(tool, architecture, versions=unread, served=True, reason=reason)


def _explain_dialect(contract: Contract, dialect: Dialect, segments: tuple[Dialect, ...], served: str | None) -> Row:
    """Give one dialect's row; ``segments`` are those of its setting, in all versions."""
    serves = dialect.serves_for == "serve"
    in_range = tuple(other for other in segments if served is None or not serves or meets(other, served))
    wanted = wanted_of(contract, dialect)
    layers, architecture = contract.target.num_hidden_layers, contract.target.architecture
    found = invert(dialect, wanted.taps, layers, over=in_range)
    common = {
        "purpose": dialect.serves_for,
        "versions": dialect.versions,
        "setting": dialect.setting,
        "served": serves and served is not None and dialect in in_range,
    }
    if not isinstance(found, Inverse):
        return _row(dialect.tool, architecture, reason=_join(found.reason, wanted.note), **common)
    ids = found.ids
    return _row(
        dialect.tool,
        architecture,
        ids=None if ids is None else list(ids),
        alternatives=[list(other) for other in found.lists if other != ids],
        stable=None if found.stable is None else list(found.stable),
        default=found.default,
        reason=_join(NO_LIST if not found.lists else "", found.note, wanted.note, found.unstable),
        **common,
    )


def _merge(rows: Iterable[Row]) -> Iterator[Row]:
    """Join the rows of adjoining ranges of versions that say the same."""
    last: Row | None = None
    for row in rows:
        if last is not None and _without_versions(last) == _without_versions(row) and _adjoin(last, row):
            last = {**row, "versions": f"{last['versions'].split(',')[0]},{row['versions'].split(',')[1]}"}
            continue
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last


def _adjoin(earlier: Row, later: Row) -> bool:
    """Tell whether one range ends where the other begins: ``>=a,<b`` and ``>=b,<c``."""
    end, start = earlier["versions"].partition(",<")[2], later["versions"].partition(",<")[0].removeprefix(">=")
    return bool(end) and end == start


def _without_versions(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "versions"}


def _join(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _row(tool: Tool, architecture: str, *, reason: str, **fields: Any) -> Row:
    """Complete a row, every field present."""
    empty: Row = {
        "tool": tool.name,
        "purpose": tool.purpose,
        "versions": "",
        "setting": "",
        "architecture": architecture,
        "ids": None,
        "alternatives": [],
        "stable": None,
        "default": False,
        "served": False,
        "takes": tool.takes,
        "last_read": tool.last_read,
        "reason": reason,
    }
    return {**empty, **fields}
