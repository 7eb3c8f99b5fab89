"""What a user may name as a server: an address, a role and an address, or a launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.servers.address import FORM, Address, parse_address

ROLES: tuple[ServerRole, ...] = get_args(ServerRole)


@dataclass(frozen=True, slots=True)
class NamedServer:
    """``address``: None for a server that is to be launched. ``role``: what it is for, None where nothing says it."""

    address: Address | None
    role: ServerRole | None


def read_name(value: str) -> NamedServer:
    """Read ``http://...``, ``ROLE=http://...``, ``launch`` or ``launch:ROLE``; raise ``SubjectError`` otherwise."""
    if value == "launch" or value.startswith("launch:"):
        return NamedServer(None, _role(value.partition(":")[2] or "eagle3", value))
    before, equals, after = value.partition("=")
    if equals and "/" not in before:
        return NamedServer(parse_address(after), _role(before, before))
    return NamedServer(parse_address(value), None)


def _role(name: str, shown: str) -> ServerRole:
    if name not in ROLES:
        remedy = f"{FORM}; or launch:ROLE, or ROLE=http://...: {', '.join(ROLES)}"
        raise SubjectError(shown, f"names no role of a server: {name!r}", remedy=remedy)
    return name
