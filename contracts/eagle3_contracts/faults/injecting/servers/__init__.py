"""A stand-in for a live server, honest or faulty, on real sockets.

``serve(StandIn())`` answers as SGLang 0.5.23 does with the embedded target and the recorded drafter; it is no engine:
what it answers is computed by this package's own forwards. ``serve_fault`` serves one of its faults by id.
"""

from __future__ import annotations

from eagle3_contracts.faults.injecting.servers.deforming import SERVER_INJECTIONS, deform, serve_fault
from eagle3_contracts.faults.injecting.servers.engine import Engine
from eagle3_contracts.faults.injecting.servers.program import run_server
from eagle3_contracts.faults.injecting.servers.serving import Asked, Handler, StandIn, serve

__all__ = [
    "SERVER_INJECTIONS",
    "Asked",
    "Engine",
    "Handler",
    "StandIn",
    "deform",
    "run_server",
    "serve",
    "serve_fault",
]
