"""What a contract asks of a tool: which planes in which order, and in which versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool, lies_in

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract, Plane


@dataclass(frozen=True, slots=True)
class Wanted:
    """The taps that a list must give, in order, and what to mind about them."""

    taps: tuple[Tap, ...]
    note: str = ""


def wanted_of(contract: Contract, dialect: Dialect) -> Wanted:
    """Give what a contract asks of a dialect.

    ``serve`` and ``train``: drafter.input. ``capture``: the stored planes in the tool's own format, without
    a final state that the tool stores unasked.
    """
    layers = contract.target.num_hidden_layers
    if dialect.serves_for == "capture":
        return _stored(contract, dialect, layers)
    taps = tuple(_tap(plane, layers) for plane in contract.select(contract.drafter.input))
    if dialect.serves_for == "serve":
        return Wanted(taps)
    appended = dialect.rule.appended(layers)
    return Wanted(taps if appended is None else (*taps, appended), _targets(contract, layers))


def meets(dialect: Dialect, versions: str) -> bool:
    """Tell whether a release that was read lies in both ranges."""
    return any(lies_in(release, versions) for release in dialect.tool.releases(dialect.versions))


def unread_part(tool: Tool, versions: str) -> str:
    """Say which part of a range lies beyond the versions read; empty if none does."""
    first, last = Version(tool.read[0]), Version(tool.last_read)
    later = f"{last.major}.{last.minor}.{last.micro + 1}"
    earlier = f"{first.major}.{first.minor}.{first.micro - 1}" if first.micro else f"{first.major}.{first.minor - 1}"
    parts = [f"<{first}"] if lies_in(earlier, versions) else []
    parts += [f">={later}"] if lies_in(later, versions) else []
    return " and ".join(parts)


def _stored(contract: Contract, dialect: Dialect, layers: int) -> Wanted:
    planes = contract.stored_planes(dialect.tool.dataset_format)
    taps = tuple(_tap(plane, layers) for plane in planes)
    if dialect.beside is None:
        return Wanted(taps)
    unasked = Tap(layers, dialect.beside)
    if taps[-1] == unasked:
        return Wanted(taps[:-1], f"{unasked} is stored beside them, unasked")
    return Wanted(taps, f"{unasked} is stored as well, unasked, as the last hidden state")


def _targets(contract: Contract, layers: int) -> str:
    """Say that a trainer takes its targets from the final state, where the contract names another plane."""
    name = contract.drafter.last_hidden
    if name == "none" or contract.plane(name).boundary == layers:
        return ""
    return f"it computes its targets from the final state, not from boundary {contract.plane(name).boundary} ({name})"


def _tap(plane: Plane, layers: int) -> Tap:
    return Tap(plane.boundary, plane.state) if plane.boundary == layers else Tap(plane.boundary)
