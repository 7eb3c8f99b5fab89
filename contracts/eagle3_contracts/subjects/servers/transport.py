"""One request, one answer, over a connection of its own: bounded in time and size, led nowhere else.

Standard library only. Proxies of the environment are not used, redirects are not followed, the key goes to the
address that was given and is never part of a message.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

from eagle3_contracts.subjects.servers.address import CREDENTIALS, Address
from eagle3_contracts.subjects.servers.deadline import Deadline, DeadlineSocket, TotalTimeoutError
from eagle3_contracts.subjects.servers.failing import ServerProblemError, quote
from eagle3_contracts.subjects.servers.json_answers import parse_json

_CHUNK = 1 << 16
_JSON_TYPES = ("application/json", "text/json")


@dataclass(frozen=True, slots=True)
class Limits:
    """``connect``, ``read`` (one wait), ``total`` (one exchange): seconds. ``size``: bytes of an answer."""

    connect: float = 5.0
    read: float = 90.0
    total: float = 240.0
    size: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole: the status, its content type in lower case, the bytes.

    ``encoding``: how the body is compressed, empty if it is not. ``again``: when to ask again, as the server says.
    """

    status: int
    content_type: str
    body: bytes
    encoding: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True)
class Transport:
    """Talks to one server. Every failure is a ``ServerProblemError``."""

    address: Address
    limits: Limits = field(default_factory=Limits)
    key: str | None = field(default=None, repr=False)

    def get(self, route: str, older: str | None = None) -> Any:
        """Get a route's JSON; where the server knows no such route, that of its ``older`` name."""
        reply = self.exchange("GET", route)
        if reply.status == http.client.NOT_FOUND and older is not None:
            return self.get(older)
        return self._read_json("GET", route, reply)

    def post(self, route: str, body: Any) -> Any:
        """Post JSON to a route and get its JSON."""
        return self._read_json("POST", route, self.exchange("POST", route, json.dumps(body).encode()))

    def exchange(self, method: str, route: str, body: bytes | None = None) -> Reply:
        """Send one request and read the whole answer, whatever its status."""
        deadline = Deadline(self.limits.read, time.monotonic() + self.limits.total)
        connection, where = self._connect(), f"{method} {route}"
        inner = connection.sock
        try:
            connection.sock = DeadlineSocket(inner, deadline)
            connection.request(method, self.address.base + route, body, self._headers(body))
            with connection.getresponse() as response:
                encoding = (response.headers.get("Content-Encoding") or "").strip().lower()
                return Reply(
                    response.status,
                    _content_type(response),
                    self._read(response, where),
                    "" if encoding == "identity" else encoding,
                    response.headers.get("Retry-After") or "",
                )
        except TotalTimeoutError:
            reason = f"no whole answer within {self.limits.total:g} s, though something came now and then"
            raise ServerProblemError("timeout", reason, where=where) from None
        except TimeoutError:
            reason = f"nothing came for {self.limits.read:g} s"
            raise ServerProblemError("timeout", reason, where=where) from None
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError) as error:
            reason = f"the connection was closed before an answer was whole ({_name(error)})"
            raise ServerProblemError("truncated", reason, where=where) from None
        except http.client.IncompleteRead as error:
            reason = f"the answer ends after {len(error.partial):,} bytes of its last part"
            raise ServerProblemError("truncated", reason, where=where) from None
        except (http.client.HTTPException, ValueError, OSError) as error:
            raise ServerProblemError("malformed", f"the answer is no HTTP: {_name(error)}", where=where) from None
        finally:
            connection.close()
            inner.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port, seconds = self.address.host, self.address.port, self.limits.connect
        if self.address.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=seconds)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        try:
            connection.connect()
        except TimeoutError:
            reason = f"{self.address} took no connection within {seconds:g} s"
        except ssl.SSLError as error:
            reason = f"no secure connection to {self.address}: {_name(error)}"
        except (OSError, UnicodeError) as error:
            reason = f"{self.address} takes no connection: {_name(error)}"
        else:
            return connection
        connection.close()
        raise ServerProblemError("unreachable", reason)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers

    def _read(self, response: http.client.HTTPResponse, where: str) -> bytes:
        """Read the body piece by piece, no more than may come and no less than was announced."""
        announced = response.length
        if announced is not None and announced > self.limits.size:
            reason = f"an answer of {announced:,} bytes is announced, {self.limits.size:,} are read"
            raise ServerProblemError("too-large", reason, where=where)
        pieces, size = [], 0
        while piece := response.read(_CHUNK):
            pieces.append(piece)
            size += len(piece)
            if size > self.limits.size:
                reason = f"the answer has more than the {self.limits.size:,} bytes that are read"
                raise ServerProblemError("too-large", reason, where=where)
        if announced is not None and size < announced:
            reason = f"the answer ends after {size:,} of the {announced:,} bytes announced"
            raise ServerProblemError("truncated", reason, where=where)
        return b"".join(pieces)

    def _read_json(self, method: str, route: str, reply: Reply) -> Any:
        where = f"{method} {route}"
        if reply.status != http.client.OK:
            raise explain_status(reply, where, keyed=self.key is not None)
        if reply.encoding:
            reason = f"the answer is compressed ({quote(reply.encoding)}), though none was asked to be"
            raise ServerProblemError("no-json", reason, where=where)
        if not reply.body.strip():
            raise ServerProblemError("truncated", "the answer is empty", where=where)
        if reply.content_type not in _JSON_TYPES:
            said = reply.content_type or "nothing"
            reason = f"the answer says that it is {quote(said)}, not JSON; it begins {quote(_text(reply.body))}"
            raise ServerProblemError("no-json", reason, where=where)
        return parse_json(reply.body, where)


def explain_status(reply: Reply, where: str, *, keyed: bool) -> ServerProblemError:
    """Give the error of a status that is no 200. ``keyed``: a key was sent along."""
    status, remedy = reply.status, ""
    if 300 <= status < 400:
        told, remedy = "a redirect, which is not followed", "give the address that it leads to, if it is the engine's"
    elif status in {401, 403}:
        told = f"the server does not take the key in {CREDENTIALS}" if keyed else "the server wants a key"
        remedy = f"set the variable {CREDENTIALS} to the server's --api-key (or --admin-api-key)"
    elif status == http.client.NOT_FOUND:
        told = "there is no such route"
        remedy = _NO_ROUTE
    elif status in {429, 503}:
        told = "the server takes no more requests now" + (
            f", ask again after {quote(reply.again)}" if reply.again else ""
        )
        remedy = "check while it has room: 16 short requests at once are asked for (SGLang: --max-queued-requests)"
    else:
        told = ""
    # What refuses a key may repeat it.
    begin = f"the answer begins {quote(_text(reply.body))}" if reply.body.strip() else "the answer is empty"
    shown = "" if status in {401, 403} else begin
    said = "; ".join(filter(None, (f"status {status}" + (f": {told}" if told else ""), shown)))
    return ServerProblemError("status", said, where=where, remedy=remedy)


_NO_ROUTE = (
    "give the address of SGLang's own server, without /v1: it has /health, /server_info and /generate. Other engines "
    "(vLLM) are checked by --launch and --checkpoint; a gateway that hides these routes cannot be asked"
)


def _content_type(response: http.client.HTTPResponse) -> str:
    return (response.headers.get("Content-Type") or "").partition(";")[0].strip().lower()


def _text(body: bytes) -> str:
    return body[:1024].decode("utf-8", "replace")


def _name(error: Exception) -> str:
    """Name an error; of the system's own, with its words, and never with what a server sent."""
    if isinstance(error, socket.gaierror):
        return "the host's name is not known"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return error.strerror
    return type(error).__name__
