"""What target and drafter say, run here, that a request should have been answered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.evidence.server import ServedPrediction
from eagle3_contracts.subjects.servers.drafts import Drafting

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

Counts = tuple[int, ...] | None
"""A histogram of accepted tokens, None where nothing is drafted."""

KEPT = 32
"""Most likely tokens that are kept of each row: more than any server is asked for."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """A full target, and the drafting of the server under test where it can be foretold, else why not."""

    contract: Contract
    target: Target
    drafting: Drafting | None = None
    unpredicted: str = ""

    def predict(self, prompt: tuple[int, ...], new_tokens: int, guess: tuple[int, ...] = ()) -> ServedPrediction:
        """Foretell one answer. ``guess``: what the server said, which saves time where it is right."""
        extra = self.drafting.steps if self.drafting is not None else 0
        states = self._decode(prompt, new_tokens + extra, guess)
        rows = slice(len(prompt) + new_tokens)
        logprobs = _log_softmax(states.logits[rows])
        top = np.argsort(-logprobs, axis=-1, kind="stable")[:, :KEPT]
        best = np.take_along_axis(logprobs, top, axis=-1)
        output = slice(len(prompt) - 1, len(prompt) - 1 + new_tokens)
        output_ids = tuple(int(token) for token in states.token_ids[len(prompt) :][:new_tokens])
        return ServedPrediction(
            output_ids=output_ids,
            gaps=best[output, 0] - best[output, 1],
            top_ids=top.astype(np.int64),
            top_logprobs=best,
            accepted=self._accepted(states, len(prompt), new_tokens),
            accepted_as_served=self._accepted_as_served(prompt, output_ids, guess),
            unpredicted=self.unpredicted,
        )

    def _accepted_as_served(self, prompt: tuple[int, ...], own: tuple[int, ...], said: tuple[int, ...]) -> Counts:
        """Give the histogram of the server's own text, whole and of known tokens, where it is another."""
        known = all(0 <= token < self.contract.target.vocab_size for token in said)
        if self.drafting is None or said == own or len(said) != len(own) or not known:
            return None
        states = self._decode((*prompt, *said), self.drafting.steps, ())
        return self._accepted(states, len(prompt), len(own))

    def _accepted(self, states: ReferenceStates, prompt: int, new_tokens: int) -> Counts:
        if self.drafting is None:
            return None
        from eagle3_contracts.accuracy import passage_from_states

        return self.drafting.histogram(passage_from_states(self.contract, states), prompt, new_tokens)

    def _decode(self, prompt: tuple[int, ...], count: int, guess: tuple[int, ...]) -> ReferenceStates:
        """Decode greedily: run text with the guess behind it, keep what the target confirms, and go on from there."""
        vocabulary = self.contract.target.vocab_size
        sure: list[int] = []
        hoped = [token for token in guess if token < vocabulary][:count]
        while True:
            tried = [*sure, *hoped[len(sure) :]]
            states = self.target.reference((*prompt, *tried))
            choices = states.logits[len(prompt) - 1 :].argmax(axis=-1).tolist()
            while len(sure) < len(tried) and choices[len(sure)] == tried[len(sure)]:
                sure.append(tried[len(sure)])
            if len(sure) == count and len(tried) == count:
                return states
            if len(sure) < count:
                sure.append(choices[len(sure)])
            hoped = [*sure, *hoped[len(sure) :]]


def _log_softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    wide = logits.astype(np.float64)
    wide = wide - wide.max(axis=-1, keepdims=True)
    result: npt.NDArray[np.float64] = wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))
    return result
