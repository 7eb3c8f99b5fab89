"""What is asked of ``/generate``: token ids in, greedy text, log-probabilities and hidden states out."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """One request. ``token_ids``: the prompt. ``new_tokens``: asked for, an end of text included and ignored.

    ``hidden_states``: rows of prompt and output. ``top``: most likely tokens at every position, 0 for none; asking
    for them from the first position makes SGLang compute a cached prefix again, which hides its lost rows.
    ``request_id``: comes back with the answer to it (SGLang's rid).
    """

    token_ids: tuple[int, ...]
    new_tokens: int
    hidden_states: bool = False
    top: int = 0
    request_id: str = field(default_factory=lambda: f"eagle3-contracts-{uuid.uuid4().hex}")

    def body(self) -> dict[str, Any]:
        """Give the request's JSON."""
        return batch_body([self]) | {"input_ids": list(self.token_ids), "rid": self.request_id}


def batch_body(questions: Sequence[Question]) -> dict[str, Any]:
    """Give the JSON of several requests in one; all ask for the same."""
    first = questions[0]
    body: dict[str, Any] = {
        "input_ids": [list(question.token_ids) for question in questions],
        "rid": [question.request_id for question in questions],
        "sampling_params": {"temperature": 0, "max_new_tokens": first.new_tokens, "ignore_eos": True},
    }
    if first.hidden_states:
        body["return_hidden_states"] = True
    if first.top:
        body |= {"return_logprob": True, "logprob_start_len": 0, "top_logprobs_num": first.top}
    return body
