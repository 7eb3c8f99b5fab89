"""A stand-in for an SGLang server: real sockets, threads of the standard library, answers that can be deformed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.faults.injecting.servers.answers import answer
from eagle3_contracts.faults.injecting.servers.engine import Engine
from eagle3_contracts.faults.injecting.servers.information import model_info, server_info, with_internal_states

Json = dict[str, Any]
Prompt = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt of a request: ``place`` within its batch, ``count`` how often it was asked before, alone."""

    prompt: Prompt
    request: Mapping[str, Any]
    place: int
    batch: int
    count: int


@dataclass(slots=True)
class StandIn:
    """What the server is and does. A deformation changes it before it serves.

    ``inform`` changes its arguments, ``edit`` an answer to one prompt, ``hijack`` takes over a connection: it is given
    the handler, the route and the honest bytes, and tells whether it answered itself.
    """

    role: ServerRole = "eagle3"
    engine: Engine = field(default_factory=Engine)
    inform: Callable[[Json], Json] = lambda info: info
    edit: Callable[[Json, Asked], Json] = lambda given, _: given
    hijack: Callable[[Handler, str, bytes], bool] = lambda *_: False
    asked: dict[Prompt, int] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, method: str, route: str, body: bytes) -> tuple[int, bytes]:
        """Give status and body of the answer."""
        if method == "GET" and route in {"/health", "/health_generate"}:
            return 200, b""
        if method == "GET" and route in {"/model_info", "/get_model_info"}:
            return 200, _dump(model_info())
        if method == "GET" and route in {"/server_info", "/get_server_info"}:
            return 200, _dump(with_internal_states(self.inform(server_info(self.engine, self.role))))
        if method == "POST" and route == "/generate":
            return self._generate(json.loads(body))
        return 404, _dump({"detail": "Not Found"})

    def _generate(self, request: Mapping[str, Any]) -> tuple[int, bytes]:
        given = request["input_ids"]
        prompts: list[Any] = given if given and isinstance(given[0], list) else [given]
        if not all(prompts):
            return 400, _dump({"error": {"message": "input_ids cannot be empty."}})
        rids = request.get("rid") or [f"{at:032x}" for at in range(len(prompts))]
        rids = rids if isinstance(rids, list) else [rids]
        with self.lock:
            answers = [
                self._answer(tuple(prompt), request, at, len(prompts), rids[at]) for at, prompt in enumerate(prompts)
            ]
        return 200, _dump(answers if prompts is given else answers[0])

    def _answer(self, prompt: Prompt, request: Mapping[str, Any], place: int, batch: int, rid: str) -> Json:
        honest = answer(self.engine, self.role, request, prompt, rid)
        count = self.asked.get(prompt, 0)
        if batch == 1:
            self.asked[prompt] = count + 1
        return self.edit(honest, Asked(prompt, request, place, batch, count))


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def do_GET(self) -> None:
        """Answer a question about the server."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Answer a prompt."""
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        status, given = self.stand_in.respond(self.command, self.path, body)
        try:
            if not self.stand_in.hijack(self, self.path, given):
                self.reply(status, given)
        except OSError:
            pass
        self.close_connection = True

    def reply(self, status: int, body: bytes, kind: str = "application/json", length: int | None = None) -> None:
        """Send a whole answer; ``length``: what is announced in place of the true one."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if body:
            self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the base class's name)
        """Keep quiet."""


@contextmanager
def serve(stand_in: StandIn, port: int = 0) -> Iterator[str]:
    """Serve on that port of this machine, or on a free one, until the block ends; give the URL."""
    bound = type("BoundHandler", (Handler,), {"stand_in": stand_in})
    server = ThreadingHTTPServer(("127.0.0.1", port), bound)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        stand_in.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
