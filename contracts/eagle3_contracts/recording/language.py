"""A small synthetic language for the embedded target: learnable in minutes, with an entropy that is known.

A document is ``<topic>`` and sentences; a sequence starts with ``<begin>`` and holds documents until it is full.

- Words have one head token of their own and 0 to 2 tail tokens. Tails are shared between words, so what
  follows a tail depends on the tokens before it.
- A sentence has 3 to 6 words and ends with ``<stop>``. Its first word is one of the topic's openers, and each
  next word is one of four successors of the last one, by a table that belongs to the topic: what follows a
  word depends on a token far back.
- A sentence may be followed by ``<recall>``, the first word of the document, and ``<stop>``: a copy over a
  distance.

The state of the generator can be told from the tokens so far, so the probability of each token given all before
it is known exactly, and the mean of its negative logarithm is the entropy per token of the language.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

VOCABULARY = 256
BEGIN, END, STOP, RECALL = 0, 1, 2, 3
TOPICS = range(4, 8)
HEADS = range(8, 128)
TAILS = range(128, VOCABULARY)
SUCCESSOR_SHARES = (0.64, 0.2, 0.11, 0.05)
OPENER_SHARES = (0.5, 0.25, 0.15, 0.1)
TOPIC_SHARES = (0.4, 0.3, 0.2, 0.1)
SHORTEST, LONGEST = 3, 6
STOP_SHARE = 0.4
RECALL_SHARE = 0.4
END_SHARE = 0.15

Step = tuple[int, float]
"""A token and its probability given all tokens before it."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language, drawn from a seed: its words, openers and successor tables."""

    seed: int
    words: tuple[tuple[int, ...], ...] = field(init=False)
    openers: tuple[tuple[int, ...], ...] = field(init=False)
    successors: tuple[tuple[tuple[int, ...], ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        """Draw the tables."""
        draw = random.Random(self.seed)  # noqa: S311 (a language, no secret)
        lengths = draw.choices((0, 1, 2), (0.3, 0.45, 0.25), k=len(HEADS))
        words = tuple((head, *draw.choices(TAILS, k=length)) for head, length in zip(HEADS, lengths, strict=True))
        everything = range(len(words))
        openers = tuple(tuple(draw.sample(everything, len(OPENER_SHARES))) for _ in TOPICS)
        successors = tuple(
            tuple(tuple(draw.sample(everything, len(SUCCESSOR_SHARES))) for _ in everything) for _ in TOPICS
        )
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "openers", openers)
        object.__setattr__(self, "successors", successors)

    def sequence(self, length: int, draw: random.Random) -> tuple[list[int], list[float]]:
        """Give a sequence of ``length`` tokens and the probability of each given those before it."""
        steps = list(islice(self._steps(draw), length))
        return [token for token, _ in steps], [share for _, share in steps]

    def _steps(self, draw: random.Random) -> Iterator[Step]:
        yield BEGIN, 1.0
        while True:
            yield from self._document(draw)

    def _document(self, draw: random.Random) -> Iterator[Step]:
        topic, share = _pick(range(len(TOPICS)), TOPIC_SHARES, draw)
        yield TOPICS[topic], share
        first: int | None = None
        over: float = 1.0
        while True:
            word, share = _pick(self.openers[topic], OPENER_SHARES, draw)
            first = word if first is None else first
            yield from self._spell(word, share * over)
            yield from self._sentence(topic, word, draw)
            over = 1.0 - END_SHARE
            if draw.random() < RECALL_SHARE:
                yield RECALL, RECALL_SHARE
                yield from self._spell(first, 1.0)
                yield STOP, 1.0
            else:
                over *= 1.0 - RECALL_SHARE
            if draw.random() < END_SHARE:
                yield END, over / (1.0 - END_SHARE) * END_SHARE
                return

    def _sentence(self, topic: int, word: int, draw: random.Random) -> Iterator[Step]:
        for count in range(1, LONGEST + 1):
            stops = 0.0 if count < SHORTEST else 1.0 if count == LONGEST else STOP_SHARE
            if draw.random() < stops:
                yield STOP, stops
                return
            word, share = _pick(self.successors[topic][word], SUCCESSOR_SHARES, draw)
            yield from self._spell(word, share * (1.0 - stops))

    def _spell(self, word: int, share: float) -> Iterator[Step]:
        head, *tails = self.words[word]
        yield head, share
        yield from ((tail, 1.0) for tail in tails)


def entropy(probabilities: list[list[float]]) -> float:
    """Give the mean negative log-probability (nats per token) of all tokens after the first of each sequence."""
    values = [-math.log(share) for sequence in probabilities for share in sequence[1:]]
    return sum(values) / len(values)


def _pick(choices: range | tuple[int, ...], shares: tuple[float, ...], draw: random.Random) -> Step:
    (index,) = draw.choices(range(len(choices)), shares)
    return choices[index], shares[index]
