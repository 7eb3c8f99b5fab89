"""Sockets that keep a deadline: no single wait beyond the read timeout, all together not beyond the total.

``http.client`` resets its timeout with every byte; a server that drips one now and then would hold a test for hours.
"""

from __future__ import annotations

import io
import socket
import time
from dataclasses import dataclass


class TotalTimeoutError(TimeoutError):
    """The whole exchange took longer than it may, though no single wait did."""


@dataclass(slots=True)
class Deadline:
    """``read``: seconds of one wait. ``end``: the monotonic second at which the exchange must be over."""

    read: float
    end: float

    def wait(self) -> float:
        """Give the seconds that the next wait may take; ``TotalTimeoutError`` if none are left."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TotalTimeoutError
        return min(self.read, left)

    def blame(self) -> TimeoutError:
        """Give the error of a wait that ran out: of the read timeout, or of the total one."""
        return TotalTimeoutError() if self.end - time.monotonic() <= 0 else TimeoutError()


class _Stream(io.RawIOBase):
    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        self._inner.settimeout(self._deadline.wait())
        try:
            return self._inner.recv_into(buffer)  # type: ignore[arg-type]
        except TimeoutError:
            raise self._deadline.blame() from None


class DeadlineSocket:
    """What ``http.client`` needs of a socket: send all, and a file to read from."""

    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def sendall(self, data: bytes) -> None:
        """Send within what is left of the deadline: a server that reads nothing is a hang too."""
        self._inner.settimeout(self._deadline.wait())
        try:
            self._inner.sendall(data)
        except TimeoutError:
            raise self._deadline.blame() from None

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        """Give the stream of the answer."""
        return io.BufferedReader(_Stream(self._inner, self._deadline))

    def close(self) -> None:
        """Do nothing: ``http.client`` closes before the answer is read; whoever connected closes the inner socket."""
