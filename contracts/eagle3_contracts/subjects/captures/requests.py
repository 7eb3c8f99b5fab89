"""The requests that a capture is asked for: seeded token ids in sequences of different lengths."""

from __future__ import annotations

import random

LENGTHS = (17, 33, 58)
"""108 tokens: 64 and more remain when attention sinks are excluded. Different, so that a batch must be padded."""

_SHARED_PREFIX = 9
_REPEAT_EVERY = 4

Requests = tuple[tuple[int, ...], ...]


def make_requests(vocab_size: int, seed: int = 0) -> Requests:
    """Draw one request per length; equal seeds give equal requests.

    Ids come from the middle of the vocabulary (1/16 to 1/2): special tokens and unused, sometimes all-zero
    embedding rows stand at its ends. About every fourth token repeats an earlier one, as text does, so that
    an embedding plane shows. The last two requests share a prefix, which a prefix cache would serve without
    computing it (sglang issue #4997).
    """
    dice = random.Random(seed)  # noqa: S311 - a reproducible draw, nothing secret
    low, high = vocab_size // 16, max(vocab_size // 2, vocab_size // 16 + 1)
    requests = [_draw(length, low, high, dice) for length in LENGTHS]
    requests[-1][:_SHARED_PREFIX] = requests[-2][:_SHARED_PREFIX]
    return tuple(tuple(request) for request in requests)


def _draw(length: int, low: int, high: int, dice: random.Random) -> list[int]:
    tokens: list[int] = []
    for _ in range(length):
        repeat = len(tokens) > 1 and dice.randrange(_REPEAT_EVERY) == 0
        tokens.append(dice.choice(tokens) if repeat else dice.randrange(low, high))
    return tokens
