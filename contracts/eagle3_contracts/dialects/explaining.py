"""A contract in every dialect: the ids that each tool must be given, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Purpose, Tool
from eagle3_contracts.dialects.inverse import Inverse, invert
from eagle3_contracts.dialects.table import TOOLS, dialects_of
from eagle3_contracts.dialects.tensorrt_llm import TENSORRT_LLM

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract, Plane


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a contract asks of a tool: the taps in order, those that may be stored beside them, and the range."""

    purpose: Purpose
    taps: tuple[Tap, ...]
    final: Tap | None
    served: str | None


def explain(contract: Contract) -> dict[str, Any]:
    """Say what a contract means in every dialect, as JSON-ready values.

    ``boundaries``: plane to boundary. ``drafter_input``: boundaries in the order of concatenation.
    ``dialects``: one row per tool, range of versions and setting. A row's ``ids`` are what the tool must be
    given (null: none), ``alternatives`` all other lists that mean the same, ``stable`` the list that means it
    in all versions that the contract serves (in all that were read, if it serves none of the tool), or null.
    ``purpose``: ``serve`` rows give drafter.input, ``capture`` rows the stored planes. ``served``: the row's
    versions meet the contract's. ``reason``: why there are no ids, or what to mind.
    """
    return {
        "contract": contract.reference,
        "boundaries": {plane.name: plane.boundary for plane in contract.planes},
        "drafter_input": [plane.boundary for plane in contract.select(contract.drafter.input)],
        "dialects": [row for tool in TOOLS for row in _explain_tool(contract, tool)],
    }


def _explain_tool(contract: Contract, tool: Tool) -> Iterator[dict[str, Any]]:
    """Give a tool's rows: each setting in each range of versions, and what lies outside the range read."""
    architecture, layers = contract.target.architecture, contract.target.num_hidden_layers
    dialects = tuple(dialects_of(tool, architecture))
    if not dialects:
        yield _row(tool, architecture, reason=f"not verified: this architecture's rule was not read in {tool.name}")
    for dialect in dialects:
        wanted = _wanted(contract, dialect)
        served = wanted.served is not None and _meets(dialect, wanted.served)
        siblings = tuple(other for other in dialects if other.setting == dialect.setting)
        over = tuple(other for other in siblings if wanted.served is None or _meets(other, wanted.served)) or siblings
        yield _explain_dialect(dialect, wanted, layers, architecture=architecture, over=over, served=served)
    yield from _unread_versions(contract, tool, dialects)


def _explain_dialect(
    dialect: Dialect, wanted: Wanted, layers: int, *, architecture: str, over: tuple[Dialect, ...], served: bool
) -> dict[str, Any]:
    taps, beside = _requested(dialect, wanted, layers)
    found = invert(dialect, taps, layers, over=over)
    common = {"purpose": wanted.purpose, "versions": dialect.versions, "setting": dialect.setting, "served": served}
    if not isinstance(found, Inverse):
        return _row(dialect.tool, architecture, reason=found.reason, **common)
    ids = found.stable if found.stable is not None and dialect in over else (found.lists or (None,))[0]
    notes = [found.note, beside, found.unstable]
    if not found.lists:
        notes.insert(0, f"takes no list: {dialect.tool.takes}")
    elif found.default:
        notes.append("the default without ids means the same")
    return _row(
        dialect.tool,
        architecture,
        ids=None if ids is None else list(ids),
        alternatives=[list(other) for other in found.lists if other != ids],
        stable=None if found.stable is None else list(found.stable),
        default=found.default,
        reason="; ".join(note for note in notes if note),
        **common,
    )


def _wanted(contract: Contract, dialect: Dialect) -> Wanted:
    """Give what a tool must yield: drafter.input from an engine, the stored planes from a capture tool."""
    layers = contract.target.num_hidden_layers
    captures = dialect.tool.purpose == "capture" or (dialect.tool is TENSORRT_LLM and bool(dialect.setting))
    ranges = contract.serving.engines if contract.serving is not None else {}
    if not captures:
        taps = tuple(_tap(plane, layers) for plane in contract.select(contract.drafter.input))
        return Wanted("serve", taps, None, ranges.get(dialect.tool.name))
    planes = contract.stored_planes(dialect.tool.dataset_format)
    taps = tuple(_tap(plane, layers) for plane in planes)
    return Wanted("capture", taps, taps[-1] if taps[-1].boundary == layers else None, None)


def _requested(dialect: Dialect, wanted: Wanted, layers: int) -> tuple[tuple[Tap, ...], str]:
    """Leave out the final state that a capture tool stores unasked; say so where the contract has none."""
    if wanted.purpose == "serve" or dialect.beside is None:
        return wanted.taps, ""
    unasked = Tap(layers, dialect.beside)
    if wanted.final == unasked:
        return wanted.taps[:-1], f"{unasked} is stored beside them, unasked"
    return wanted.taps, f"{unasked} is stored as well, unasked, as the last hidden state"


def _tap(plane: Plane, layers: int) -> Tap:
    return Tap(plane.boundary, plane.state) if plane.boundary == layers else Tap(plane.boundary)


def _meets(dialect: Dialect, served: str) -> bool:
    return any(SpecifierSet(served).contains(version) for version in dialect.tool.releases(dialect.versions))


def _unread_versions(contract: Contract, tool: Tool, dialects: tuple[Dialect, ...]) -> Iterator[dict[str, Any]]:
    """Give a row for the part of the serving range that lies beyond the versions read."""
    served = contract.serving.engines.get(tool.name) if contract.serving is not None else None
    if served is None or not dialects or not tool.versioned:
        return
    last = Version(tool.last_read)
    later = f"{last.major}.{last.minor}.{last.micro + 1}"
    if SpecifierSet(served).contains(later):
        yield _row(
            tool,
            contract.target.architecture,
            versions=f">={later}",
            purpose="serve",
            served=True,
            reason=f"not verified: the contract serves {served}, last read {tool.last_read}",
        )


def _row(tool: Tool, architecture: str, **fields: Any) -> dict[str, Any]:
    """Complete a row, every field present."""
    empty: dict[str, Any] = {
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
        "reason": "",
    }
    return {**empty, **fields}
