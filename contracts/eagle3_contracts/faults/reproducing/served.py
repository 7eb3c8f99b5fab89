"""What a server answered: a handful of requests, each with the raw bytes that came back and how that ended."""

from __future__ import annotations

import socket
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from eagle3_contracts.embedded import CONTRACT, golden_root
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.reproducing.recording import Files, dump_json
from eagle3_contracts.subjects.captures.requests import make_requests

if TYPE_CHECKING:
    from eagle3_contracts.evidence.server import ServerRole
    from eagle3_contracts.faults.injecting.servers import StandIn

_SILENCE, _WHOLE, _MOST = 0.5, 1.0, 1 << 19
_STATES, _TEXT = 4, 24
"""Tokens generated where rows come back, and where they do not."""


def record_server(fault: Fault, *, sound: bool) -> Files:
    """Ask a stand-in all that a client asks; on a real socket where the connection itself is the fault."""
    from eagle3_contracts.faults.injecting.servers import StandIn, deform
    from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS
    from eagle3_contracts.faults.injecting.servers.deforming import PLAIN_FAULTS

    if fault.id in CONNECTION_FAULTS:
        stand_in = StandIn() if sound else deform(fault.id)
        return {name: _exchange(stand_in, *request) for name, request in list_requests()[2:3]}
    if sound:
        return dict(_respond_soundly("plain" if fault.id in PLAIN_FAULTS else "eagle3"))
    stand_in = deform(fault.id)
    return {name: _respond(stand_in, *request) for name, request in list_requests()}


@cache
def _respond_soundly(role: ServerRole) -> Files:
    from eagle3_contracts.faults.injecting.servers import StandIn

    stand_in = StandIn(role=role)
    return {name: _respond(stand_in, *request) for name, request in list_requests()}


def list_requests() -> list[tuple[str, tuple[str, str, bytes]]]:
    """Give the requests in the order in which they are sent: method, route and body, by the name of a file."""
    from eagle3_contracts.contract import load_contract

    short, middle, long = make_requests(load_contract(CONTRACT).target.vocab_size)
    asked: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", "/server_info", None),
        ("GET", "/model_info", None),
        ("POST", "/generate", _ask(middle[:20], _STATES, return_hidden_states=True)),
        ("POST", "/generate", _ask(middle[:20], _STATES, return_hidden_states=True)),
        ("POST", "/generate", _ask(short[:6], _STATES, return_hidden_states=True)),
        ("POST", "/generate", _ask(short, _TEXT, return_logprob=True, logprob_start_len=0, top_logprobs_num=2)),
        ("POST", "/generate", _ask(short, _TEXT, return_logprob=True, logprob_start_len=0, top_logprobs_num=2)),
        ("POST", "/generate", _ask(long, _TEXT)),
        ("POST", "/generate", _ask(middle, _TEXT)),
        ("POST", "/generate", _ask([list(long), list(middle), list(short)], _TEXT)),
        ("POST", "/generate", _ask(long, _STATES, return_hidden_states=True)),
    ]
    return [
        (f"{at:02}-{method}{route.replace('/', '-')}.exchange", (method, route, dump_json(body) if body else b""))
        for at, (method, route, body) in enumerate(asked, start=1)
    ]


def _ask(prompt: Any, new_tokens: int, **more: Any) -> dict[str, Any]:
    batch = isinstance(prompt[0], list)
    rid = [f"request-{at}" for at in range(len(prompt))] if batch else "request-0"
    sampling = {"temperature": 0, "max_new_tokens": new_tokens, "ignore_eos": True}
    return {"input_ids": list(prompt), "rid": rid, "sampling_params": sampling, **more}


def _respond(stand_in: StandIn, method: str, route: str, body: bytes) -> bytes:
    status, given = stand_in.respond(method, route, body)
    given = _without_paths(given)
    head = f"HTTP/1.1 {status} OK\r\nContent-Length: {len(given)}\r\nContent-Type: application/json\r\n\r\n"
    return _write(method, route, body, "close", head.encode() + given)


def _exchange(stand_in: StandIn, method: str, route: str, body: bytes) -> bytes:
    """Ask over a socket; what is computed is computed before, so that silence is the server's own."""
    from eagle3_contracts.faults.injecting.servers import serve

    stand_in.respond(method, route, body)
    with serve(stand_in) as url, socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        head = f"{method} {route} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        reply, end = _receive(connection)
    return _write(method, route, body, end, _without_dates(reply))


def _receive(connection: socket.socket) -> tuple[bytes, str]:
    connection.settimeout(_SILENCE)
    reply, until = b"", time.monotonic() + _WHOLE
    try:
        while time.monotonic() < until and len(reply) < _MOST:
            piece = connection.recv(1 << 16)
            if not piece:
                return reply, "close"
            reply += piece
    except TimeoutError:
        pass
    except ConnectionError:
        return reply, "reset"
    return reply, "open"


def _write(method: str, route: str, body: bytes, end: str, reply: bytes) -> bytes:
    asked = {"method": method, "route": route, "body": body.decode(), "end": end}
    return dump_json(asked) + b"\n" + reply


def _without_paths(body: bytes) -> bytes:
    return body.replace(f"{golden_root()}/".encode(), b"")


def _without_dates(reply: bytes) -> bytes:
    """Leave out what differs from one recording to the next."""
    head, mark, body = reply.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Date:", b"Server:", b"Location:"))]
    return b"\r\n".join(lines) + mark + body
