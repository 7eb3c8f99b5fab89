"""Faults of the connection: what comes back is no answer, or none that ends."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

from eagle3_contracts.faults.injecting.servers.serving import Handler

Hijack = Callable[[Handler, str, bytes], bool]

_DRIP_SECONDS = 0.05


def on(route: str, hijack: Hijack) -> Hijack:
    """Deform one route alone."""

    def take(handler: Handler, asked: str, body: bytes) -> bool:
        return asked == route and hijack(handler, asked, body)

    return take


def _send(status: int, body: bytes, kind: str = "application/json", length: int | None = None) -> Hijack:
    def take(handler: Handler, _: str, __: bytes) -> bool:
        handler.reply(status, body, kind, length)
        return True

    return take


def _change(change: Callable[[bytes], bytes], longer: int = 0) -> Hijack:
    """Send changed bytes; ``longer``: how many more are announced than come."""

    def take(handler: Handler, _: str, body: bytes) -> bool:
        changed = change(body)
        handler.reply(200, changed, length=len(changed) + longer)
        return True

    return take


def _hang(handler: Handler, _: str, __: bytes) -> bool:
    handler.stand_in.stopping.wait()
    return True


def _drip_body(handler: Handler, _: str, body: bytes) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    return _drip(handler, body)


def _drip_headers(handler: Handler, _: str, __: bytes) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    return _drip(handler, b"X-Slow: " + b"0" * 60_000)


def _drip(handler: Handler, data: bytes) -> bool:
    for at in range(len(data)):
        if handler.stand_in.stopping.wait(_DRIP_SECONDS):
            break
        handler.wfile.write(data[at : at + 1])
    return True


def _crash(handler: Handler, _: str, body: bytes) -> bool:
    """Reset the connection after half of what was announced, as a process does that is killed."""
    handler.reply(200, body[: len(body) // 2], length=len(body))
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    return True


def _close(handler: Handler, _: str, __: bytes) -> bool:
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def _redirect(handler: Handler, route: str, _: bytes) -> bool:
    handler.send_response(307)
    handler.send_header("Location", f"http://127.0.0.1:{handler.server.server_address[1]}/elsewhere{route}")  # type: ignore[index]
    handler.send_header("Content-Length", "0")
    handler.end_headers()
    return True


def _stream(handler: Handler, _: str, __: bytes) -> bool:
    """Send chunks without an end."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    block = b" " * (1 << 16)
    while not handler.stand_in.stopping.is_set():
        handler.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
    return True


def _babble(handler: Handler, _: str, __: bytes) -> bool:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    return True


_NESTED = 200_000

CONNECTION_FAULTS: dict[str, Hijack] = {
    "server-hangs": _hang,
    "server-drips": _drip_body,
    "server-drips-headers": _drip_headers,
    "server-crashes-halfway": _crash,
    "server-closes-without-answer": _close,
    "server-answers-500": _send(500, b'{"error":{"message":"CUDA error: an illegal memory access"}}'),
    "server-answers-html": _send(200, b"<!doctype html><title>Sign in</title>", "text/html; charset=utf-8"),
    "server-answers-html-as-json": _send(200, b"<!doctype html><title>Sign in</title>"),
    "server-wants-a-key": _send(401, b'{"error":"Unauthorized"}'),
    "server-redirects": _redirect,
    "server-babbles": _babble,
    "server-answers-nothing": _send(200, b""),
    "server-truncates-json": _change(lambda body: body[: len(body) * 2 // 3]),
    "server-announces-too-much": _change(lambda body: body, longer=1000),
    "server-announces-too-little": _change(lambda body: body, longer=-100),
    "server-announces-terabytes": _send(200, b"{}", length=1 << 40),
    "server-streams-without-end": _stream,
    "server-answers-nan": _change(lambda body: b'{"meta_info":NaN,' + body[1:]),
    "server-answers-huge-number": _change(lambda body: b'{"meta_info":' + b"9" * 50_000 + b"," + body[1:]),
    "server-nests-deep": _send(200, b"[" * _NESTED + b"]" * _NESTED),
    "server-nests-halfway": _send(200, b"[" * 100 + b"]" * 100),
    "server-repeats-keys": _change(lambda body: b'{"meta_info":{},"model_path":"a",' + body[1:]),
    "server-answers-other-types": _send(200, b'{"output_ids":"12","meta_info":{"prompt_tokens":"8"},"model_path":7}'),
    "server-answers-a-list": _send(200, b"[1,2,3]"),
    "server-answers-latin-1": _send(200, '{"text":"é"}'.encode("latin-1")),
}
"""By id: what takes over the connection."""
