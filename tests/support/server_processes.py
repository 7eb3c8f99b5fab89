"""The processes of a launched server, as the system lists them."""

from __future__ import annotations

from eagle3_contracts.subjects.servers.launching.processes import PROC, Status, belonging, read_status


def everyone() -> list[Status]:
    """List every process of this machine."""
    numbers = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [status for status in map(read_status, numbers) if status is not None]


def all_of(supervisor: int) -> list[Status]:
    """List the supervisor and every process of its server; nothing where it has none."""
    servers = [status for status in everyone() if status.parent == supervisor and status.group == status.process.number]
    own = read_status(supervisor)
    if own is None or len(servers) != 1:
        return []
    return [own, *belonging(servers[0].process.number, supervisor)]


def supervisors_under(folder: str) -> list[int]:
    """List the supervisors of servers whose folders lie in a folder, by their command lines."""
    found = []
    for status in everyone():
        try:
            words = (PROC / str(status.process.number) / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if len(words) > 2 and words[-3].endswith("supervisor.py") and words[-2].startswith(folder):
            found.append(status.process.number)
    return found
