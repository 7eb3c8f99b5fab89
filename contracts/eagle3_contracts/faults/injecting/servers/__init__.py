"""A stand-in for a live server, honest or faulty, on real sockets.

``serve(StandIn())`` answers as SGLang 0.5.23 does with the embedded target and the recorded drafter; it is no engine:
what it answers is computed by this package's own forwards.
"""

from __future__ import annotations

from eagle3_contracts.faults.injecting.servers.engine import Engine
from eagle3_contracts.faults.injecting.servers.serving import Asked, Handler, StandIn, serve

__all__ = ["Asked", "Engine", "Handler", "StandIn", "serve"]
