"""What a server is asked: prompts of several lengths, with no token id that it could not know.

An id beyond the vocabulary ends SGLang's scheduler on a CPU (0.5.23), so none is ever sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerArguments
from eagle3_contracts.subjects.captures.requests import make_requests
from eagle3_contracts.subjects.goldens import Golden

NEW_TOKENS = 24
"""Tokens generated for each probe."""

TOP = 10
"""Most likely tokens asked for at every position."""

BATCH = 16
"""Requests of the batch; the probes are repeated until there are as many."""

Prompt = tuple[int, ...]

_MOST_PROBES = 16
_LONGEST_CHUNK = 1024
_BEYOND_CHUNK = 9
_BYTES_PER_NUMBER = 22
"""Of a float32 in SGLang's JSON: up to 20 digits and signs, comma, space."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The prompts to ask, and what was left out or added and why."""

    prompts: tuple[Prompt, ...]
    notes: tuple[str, ...] = ()


def plan_probes(contract: Contract, golden: Golden | None, arguments: ServerArguments, seed: int = 0) -> Plan:
    """Choose the prompts: the recorded sequences, else seeded ones; one more that is longer than a short chunk."""
    if golden is not None:
        drawn = tuple(tuple(entry["token_ids"]) for entry in golden.manifest["sequences"])[:_MOST_PROBES]
    else:
        drawn = make_requests(contract.target.vocab_size, seed)
    longer = tuple(_beyond_chunk(drawn, arguments))
    room = None if arguments.context_length is None else arguments.context_length - NEW_TOKENS - _BEYOND_CHUNK
    kept = tuple(prompt for prompt in (*drawn, *longer) if prompt and (room is None or len(prompt) <= room))
    left_out = len(drawn) - sum(prompt in kept for prompt in drawn)
    notes = [f"{left_out} probes do not fit into a context of {arguments.context_length} tokens"] if left_out else []
    return Plan(kept, tuple(notes))


def answer_size(prompts: tuple[Prompt, ...], width: int) -> int:
    """Give the bytes to expect of hidden states of so many numbers per token."""
    return sum(len(prompt) + NEW_TOKENS for prompt in prompts) * width * _BYTES_PER_NUMBER


def _beyond_chunk(drawn: tuple[Prompt, ...], arguments: ServerArguments) -> Iterator[Prompt]:
    """Give a prompt longer than a chunk of the prefill, where chunks are short: rows of earlier chunks get lost."""
    chunk = arguments.chunked_prefill
    if chunk is None or not 0 < chunk <= _LONGEST_CHUNK or max(map(len, drawn), default=0) > chunk:
        return
    joined = [token for prompt in drawn for token in prompt]
    if joined:
        wanted = chunk + _BEYOND_CHUNK
        yield tuple((joined * (wanted // len(joined) + 1))[:wanted])
