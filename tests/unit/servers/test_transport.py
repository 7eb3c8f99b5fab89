"""One exchange with a real socket at the other end, sound and faulty."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from eagle3_contracts.faults.injecting.servers import Handler, StandIn, serve
from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS, on
from eagle3_contracts.subjects.servers.address import parse_address
from eagle3_contracts.subjects.servers.client import SglangClient
from eagle3_contracts.subjects.servers.failing import ServerProblemError
from eagle3_contracts.subjects.servers.transport import Limits, Transport

ROUTE = "/server_info"
QUICK = Limits(connect=2, read=0.4, total=0.8, size=1 << 20)
UNHURRIED = Limits(connect=2, read=1.6, total=1.8, size=1 << 20)
PATIENT = Limits(connect=2, read=20, total=30, size=1 << 20)

KINDS = {
    "server-hangs": "timeout",
    "server-drips": "timeout",
    "server-drips-headers": "timeout",
    "server-crashes-halfway": "truncated",
    "server-closes-without-answer": "truncated",
    "server-answers-500": "status",
    "server-answers-html": "no-json",
    "server-answers-html-as-json": "no-json",
    "server-wants-a-key": "status",
    "server-redirects": "status",
    "server-babbles": "malformed",
    "server-answers-nothing": "truncated",
    "server-truncates-json": "truncated",
    "server-announces-too-much": "truncated",
    "server-announces-too-little": "truncated",
    "server-announces-terabytes": "too-large",
    "server-streams-without-end": "too-large",
    "server-answers-nan": "malformed",
    "server-answers-huge-number": "malformed",
    "server-nests-deep": "malformed",
    "server-nests-halfway": "malformed",
    "server-repeats-keys": "malformed",
    "server-answers-latin-1": "no-json",
}
"""What the transport itself refuses; the other faults are sound JSON, refused by who reads it."""


def ask(url: str, limits: Limits = PATIENT, key: str | None = None) -> object:
    return Transport(parse_address(url), limits, key).get(ROUTE)


def test_a_sound_answer_is_read_whole() -> None:
    with serve(StandIn()) as url:
        info = ask(url)
    assert isinstance(info, dict)
    assert info["version"] == "0.5.23"


@pytest.mark.parametrize(("fault", "kind"), KINDS.items())
def test_each_failure_is_one_problem_of_its_kind(fault: str, kind: str) -> None:
    limits = QUICK if kind == "timeout" else PATIENT
    began = time.monotonic()
    with serve(StandIn(hijack=on(ROUTE, CONNECTION_FAULTS[fault]))) as url, pytest.raises(ServerProblemError) as caught:
        ask(url, limits)
    problem = caught.value.problem
    assert problem.kind == kind, problem.reason
    assert problem.where.file == f"GET {ROUTE}"
    assert problem.remedy
    assert problem.reason.isprintable()
    assert time.monotonic() - began < limits.total + 5


def test_what_says_that_it_is_no_json_is_not_parsed() -> None:
    def send(handler: object, _: str, __: bytes) -> bool:
        handler.reply(200, b"{}", "text/html")  # type: ignore[attr-defined]
        return True

    with serve(StandIn(hijack=send)) as url, pytest.raises(ServerProblemError, match='it is "text/html", not JSON'):
        ask(url)


def test_every_other_fault_of_a_connection_is_sound_json() -> None:
    for fault in CONNECTION_FAULTS.keys() - KINDS.keys():
        with serve(StandIn(hijack=on(ROUTE, CONNECTION_FAULTS[fault]))) as url:
            ask(url)


@pytest.mark.parametrize("fault", ["server-drips", "server-drips-headers"])
def test_what_drips_is_blamed_for_the_whole_time_not_for_one_wait(fault: str) -> None:
    with serve(StandIn(hijack=on(ROUTE, CONNECTION_FAULTS[fault]))) as url, pytest.raises(ServerProblemError) as caught:
        ask(url, UNHURRIED)
    assert caught.value.problem.reason.startswith("no whole answer within 1.8 s")


def test_a_redirect_is_not_followed() -> None:
    routes: list[str] = []

    def redirect(handler: object, route: str, body: bytes) -> bool:
        routes.append(route)
        return CONNECTION_FAULTS["server-redirects"](handler, route, body)  # type: ignore[arg-type]

    with serve(StandIn(hijack=redirect)) as url, pytest.raises(ServerProblemError, match="307"):
        ask(url)
    assert routes == [ROUTE]


def test_the_key_goes_to_its_host_and_into_no_message() -> None:
    seen: list[str | None] = []

    def refuse(handler: object, route: str, body: bytes) -> bool:
        seen.append(handler.headers["Authorization"])  # type: ignore[attr-defined]
        return CONNECTION_FAULTS["server-wants-a-key"](handler, route, body)  # type: ignore[arg-type]

    with serve(StandIn(hijack=refuse)) as url:
        transport = Transport(parse_address(url), PATIENT, "hunter2")
        with pytest.raises(ServerProblemError) as caught:
            transport.get(ROUTE)
    assert seen == ["Bearer hunter2"]
    assert "hunter2" not in f"{caught.value} {caught.value.problem} {transport!r}"


def test_the_older_name_of_a_route_is_asked_where_the_newer_is_unknown() -> None:
    with serve(StandIn()) as url:
        transport = Transport(parse_address(url), PATIENT)
        assert transport.get("/unheard_of", ROUTE) == transport.get(ROUTE)
        with pytest.raises(ServerProblemError, match="404"):
            transport.get("/unheard_of", "/unheard_of_too")


def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ServerProblemError) as caught:
        ask(f"http://127.0.0.1:{port}")
    assert caught.value.problem.kind == "unreachable"
    assert "refused" in caught.value.problem.reason


def test_a_server_without_tls_is_unreachable_over_https() -> None:
    with serve(StandIn()) as url, pytest.raises(ServerProblemError) as caught:
        ask(url.replace("http:", "https:"), QUICK)
    assert caught.value.problem.kind == "unreachable"


@contextmanager
def deaf() -> Iterator[int]:
    """Take connections and read nothing from them."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        taken: list[socket.socket] = []
        thread = threading.Thread(target=lambda: taken.append(listening.accept()[0]), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()
        for one in taken:
            one.close()


def test_a_server_that_does_not_take_the_question_is_a_timeout() -> None:
    with deaf() as port:
        transport = Transport(parse_address(f"http://127.0.0.1:{port}"), QUICK)
        with pytest.raises(ServerProblemError) as caught:
            transport.post("/generate", {"input_ids": list(range(3_000_000))})
    assert caught.value.problem.kind == "timeout"


def test_a_header_that_never_ends_is_refused() -> None:
    def babble(handler: object, _: str, __: bytes) -> bool:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000)  # type: ignore[attr-defined]
        return True

    with serve(StandIn(hijack=babble)) as url, pytest.raises(ServerProblemError) as caught:
        ask(url)
    assert caught.value.problem.kind == "malformed"


def test_what_a_server_says_is_quoted_on_one_printable_line() -> None:
    def shout(handler: object, _: str, __: bytes) -> bool:
        handler.reply(500, b"\x1b[31mred\x1b[0m\r\n\r\nFAILED" + b"x" * 5000)  # type: ignore[attr-defined]
        return True

    with serve(StandIn(hijack=shout)) as url, pytest.raises(ServerProblemError) as caught:
        ask(url)
    assert caught.value.problem.reason.isprintable()
    assert len(caught.value.problem.reason) < 300


def refuse(status: int, body: bytes, **headers: str) -> StandIn:
    """Answer every question so."""

    def send(handler: Handler, _: str, __: bytes) -> bool:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return StandIn(hijack=send)


@pytest.mark.parametrize(
    ("status", "headers", "key", "reason", "remedy"),
    [
        (401, {}, None, "the server wants a key", "EAGLE3_SERVER_API_KEY"),
        (403, {}, "mine", "does not take the key in EAGLE3_SERVER_API_KEY", "--api-key"),
        (404, {}, None, "there is no such route", "vLLM"),
        (429, {"Retry_After": "3600"}, None, 'ask again after "3600"', "--max-queued-requests"),
        (503, {}, None, "takes no more requests now; the answer begins", "--max-queued-requests"),
        (200, {"Content_Encoding": "gzip"}, None, 'compressed ("gzip")', "of the engine's own HTTP server"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(
    status: int, headers: dict[str, str], key: str | None, reason: str, remedy: str
) -> None:
    with serve(refuse(status, b'{"error": "no, mine"}', **headers)) as url, pytest.raises(ServerProblemError) as caught:
        ask(url, key=key)
    assert reason in caught.value.problem.reason
    assert remedy in caught.value.problem.remedy
    assert key is None or key not in caught.value.problem.reason


def test_an_address_before_the_routes_is_told_by_health() -> None:
    with serve(StandIn()) as url:
        client = SglangClient(Transport(parse_address(f"{url}/v1"), PATIENT))
        with pytest.raises(ServerProblemError) as caught:
            client.wait_until_healthy(0)
    assert caught.value.problem.reason.startswith("status 404: there is no such route")
    assert "without /v1" in caught.value.problem.remedy
