"""How talking to a server fails: one problem of a kind that ``ServerEvidence`` lists, in words fit to be printed."""

from __future__ import annotations

from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where

_SHOWN = 200

REMEDIES = {
    "unreachable": "start the server, wait until its /health answers 200, and give the address that it listens on",
    "timeout": "look into the server's log: it took the request and did not finish the answer in time",
    "status": "ask the same route with curl and read the server's log; for 401 and 403 see the variable with its key",
    "no-json": "give the address of the engine's own HTTP server, not of a proxy, gateway or web page before it",
    "too-large": "ask a server with fewer or shorter probes, or raise the limit on an answer's size",
    "truncated": "look into the server's log: its process, or what stands between, ended while it answered",
    "malformed": "check the engine's version against those that this package reads, and what stands before it",
    "foreign": "look for a proxy or cache that mixes up requests: this answer belongs to another one",
    "needs": "pip install 'eagle3-contracts[torch]'",
}
"""By kind of problem: what to do first."""


class ServerProblemError(Exception):
    """A request that brought no usable answer; ``problem`` goes into the evidence."""

    def __init__(self, kind: str, reason: str, *, where: str = "", remedy: str = "") -> None:
        self.problem = Problem(kind, reason, remedy or REMEDIES[kind], Where(file=where or None))
        super().__init__(reason)


def quote(text: object) -> str:
    """Quote what a server said: short, on one line, with nothing that a terminal would obey."""
    line = " ".join(str(text).split())
    shown = "".join(char if char.isprintable() else "?" for char in line[: _SHOWN + 1])
    return f'"{shown[:_SHOWN]}..."' if len(shown) > _SHOWN else f'"{shown}"'
