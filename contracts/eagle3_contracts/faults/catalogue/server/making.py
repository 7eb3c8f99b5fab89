"""How a fault of a server is written down, and the clauses that several of them leave unchecked."""

from eagle3_contracts.faults.fault import Fault, Kind

PLACES = ("server.boundary", "server.order", "server.token-shift")
UNDECIDED = ("server.order", "server.token-shift")
ACCEPTED, SHAPE = "server.accepted-tokens", "server.acceptance-shape"
STATES = ("server.rows", "server.width", "server.finite", "server.zero-rows", *PLACES, "server.final-state")
ANSWERS = (
    *("server.hidden-states", *STATES, "server.own-request", "server.logprobs", "server.greedy-text"),
    *("server.counters", ACCEPTED, SHAPE, "server.batch", "server.repeats"),
)


def fault(
    name: str,
    kind: Kind,
    clause: str,
    mechanism: str,
    source: str,
    *,
    beside: tuple[str, ...] = (),
    unchecked: tuple[str, ...] = (),
) -> Fault:
    """Make a fault: names without the stage. ``beside``: its companions."""
    return Fault(f"server-{name}", kind, mechanism, source, f"server.{clause}", beside, unchecked)
