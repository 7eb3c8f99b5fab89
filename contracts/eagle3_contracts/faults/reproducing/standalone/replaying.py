"""Recorded answers of a server, given again over a real socket, and read as a client reads them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagle3_contracts.faults.reproducing.standalone.reading import READERS, UNREAD, Facts, UnableError, flatten

PATIENCE = 2.0
MOST_BYTES = 8 << 20


def read_exchange(path: Path) -> Facts:
    """Replay one answer and ask for it; give what a client got."""
    head, _, reply = path.read_bytes().partition(b"\n")
    asked = json.loads(head)
    with replay(reply, asked["end"]) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.connect()
        except OSError as error:
            raise UnableError(f"no connection to 127.0.0.1:{port} on this machine: {error}") from error
        try:
            connection.request(asked["method"], asked["route"], asked["body"].encode() or None)
            return read_answer(connection.getresponse())
        except TimeoutError:
            if asked["end"] != "open":
                raise UnableError(f"the recorded bytes did not arrive in {PATIENCE:g} s; run it again") from None
            return {UNREAD: f"nothing came for {PATIENCE:g} s"}
        except (http.client.HTTPException, OSError) as error:
            return {UNREAD: f"no whole answer: {type(error).__name__}: {error}"[:160]}
        finally:
            connection.close()


def read_answer(answer: http.client.HTTPResponse) -> Facts:
    """Read an answer to its end, with patience for so long, and take its JSON apart."""
    facts: Facts = {"status": answer.status, "content type": answer.headers.get("Content-Type", "none")}
    body = b""
    ends = time.monotonic() + PATIENCE
    while len(body) < MOST_BYTES and time.monotonic() < ends:
        piece = answer.read(1 << 16)
        if not piece:
            break
        body += piece
    if answer.length:
        return {**facts, UNREAD: f"the answer ends {answer.length:,} bytes before what was announced"}
    if answer.status != http.client.OK:
        return {**facts, UNREAD: f"the server answers {body[:100].decode(errors='replace')!r}"}
    try:
        table = json.loads(body.decode("utf-8"), parse_constant=refuse, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        return {**facts, UNREAD: f"the body is no JSON: {type(error).__name__}: {error}"[:160]}
    return {**facts, **dict(flatten(table, "body"))}


def refuse(word: str) -> Any:
    """Refuse NaN and the infinities."""
    raise ValueError(f"{word} is no number of JSON (RFC 8259, 6)")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that stands twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in one object (RFC 8259, 4)")
    return dict(pairs)


@contextlib.contextmanager
def replay(reply: bytes, end: str) -> Iterator[int]:
    """Answer one connection with recorded bytes; then close it, reset it, or leave it open."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server, reply, end, done), daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            done.set()
            thread.join()


def answer_once(server: socket.socket, reply: bytes, end: str, done: threading.Event) -> None:
    """Take one connection, read the request whole, and send what was recorded."""
    taken, _ = server.accept()
    with taken, contextlib.suppress(OSError):
        request = b""
        while b"\r\n\r\n" not in request:
            request += taken.recv(1 << 16)
        head, _, body = request.partition(b"\r\n\r\n")
        length = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while length and len(body) < int(length[0]):
            body += taken.recv(1 << 16)
        taken.sendall(reply)
        if end == "open":
            done.wait(2 * PATIENCE)
        if end == "reset":
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


READERS[".exchange"] = read_exchange
