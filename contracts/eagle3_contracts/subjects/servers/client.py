"""The routes of a live SGLang server, 0.5.20 to 0.5.23."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.evidence.server import ServedAnswer
from eagle3_contracts.subjects.servers.answers import read_answer, read_batch
from eagle3_contracts.subjects.servers.asking import Question, batch_body
from eagle3_contracts.subjects.servers.failing import ServerProblemError
from eagle3_contracts.subjects.servers.transport import Transport, explain_status

_PAUSE = 0.5
_STARTING = http.client.SERVICE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class SglangClient:
    """Asks one server. Every failure is a ``ServerProblemError``; nothing but starting is ever tried again."""

    transport: Transport

    def wait_until_healthy(self, patience: float) -> None:
        """Wait while the server says that it is starting (503), for ``patience`` seconds; then it must answer 200.

        The route makes the engine generate a token, so that 200 says more than that a process listens.
        """
        end = time.monotonic() + patience
        while True:
            reply = self.transport.exchange("GET", "/health")
            if reply.status == http.client.OK:
                return
            if reply.status != _STARTING:
                raise explain_status(reply, "GET /health", keyed=self.transport.key is not None)
            if time.monotonic() >= end:
                waited = f" after {patience:g} s of waiting" if patience else ""
                raise ServerProblemError(
                    "status", f"status {reply.status}{waited}: it is not healthy", where="GET /health"
                )
            time.sleep(_PAUSE)

    def model_info(self) -> Any:
        """Get what the server says of its model."""
        return self.transport.get("/model_info", "/get_model_info")

    def server_info(self) -> Any:
        """Get the server's arguments and internal states."""
        return self.transport.get("/server_info", "/get_server_info")

    def ask(self, question: Question) -> ServedAnswer:
        """Ask one question alone."""
        return read_answer(question, self.transport.post("/generate", question.body()))

    def ask_batch(self, questions: Sequence[Question]) -> tuple[ServedAnswer, ...]:
        """Ask several at once."""
        return read_batch(tuple(questions), self.transport.post("/generate", batch_body(questions)))
