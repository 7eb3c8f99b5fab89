"""The synthetic language states the probability of each of its tokens, and the embedded target has learned it."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.numerics import log_softmax
from eagle3_contracts.recording.language import BEGIN, END, RECALL, STOP, TOPICS, VOCABULARY, Language, entropy
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.subjects.targets import open_target


class Script:
    """Stands in for ``random.Random``: follows given decisions, then first branches; keeps the shares of all."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self.given = list(decisions)
        self.taken: list[int] = []
        self.branches: list[list[float]] = []

    def _decide(self, shares: Sequence[float]) -> int:
        at = len(self.taken)
        self.taken.append(self.given[at] if at < len(self.given) else 0)
        self.branches.append([share / sum(shares) for share in shares])
        return self.taken[-1]

    def choices(self, population: Sequence[int], shares: Sequence[float]) -> list[int]:
        return [population[self._decide(shares)]]

    def random(self) -> Any:
        return Chance(self)

    @property
    def share(self) -> float:
        return math.prod(branch[choice] for branch, choice in zip(self.branches, self.taken, strict=True))


class Chance:
    """A random number that decides when it is compared: below the bound, or not."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def __lt__(self, bound: float) -> bool:
        return self.script._decide([bound, 1 - bound]) == 0


def every_way(language: Language, length: int, fixed: Sequence[int]) -> list[tuple[tuple[int, ...], float, float]]:
    """Walk every series of decisions that starts with ``fixed``: ``length`` tokens, their stated and true share."""
    found, waiting = [], [list(fixed)]
    while waiting:
        decisions = waiting.pop()
        script = Script(decisions)
        steps = list(islice(language._steps(script), length))  # type: ignore[arg-type]
        found.append((tuple(token for token, _ in steps), math.prod(share for _, share in steps), script.share))
        for at in range(len(decisions), len(script.taken)):
            others = [other for other, share in enumerate(script.branches[at]) if other and share > 0]
            waiting += [[*script.taken[:at], other] for other in others]
    return found


def test_stated_probabilities_are_those_of_the_generator() -> None:
    language = Language(LANGUAGE_SEED)
    fixed = [0, 0]  # the topic and the document's first word: everything after them is walked through
    true: dict[tuple[int, ...], float] = defaultdict(float)
    stated: dict[tuple[int, ...], set[float]] = defaultdict(set)
    for tokens, said, share in every_way(language, 11, fixed):
        true[tokens] += share
        stated[tokens].add(round(said, 12))
    assert len(true) > 200
    for tokens, share in true.items():
        assert len(stated[tokens]) == 1
        assert stated[tokens].pop() == pytest.approx(share, rel=1e-6)
    seen = {token for tokens in true for token in tokens}
    assert {BEGIN, STOP, RECALL, END} <= seen


def test_sequences_are_full_and_within_the_vocabulary() -> None:
    tokens, shares = Language(3).sequence(300, random.Random(1))  # noqa: S311
    assert len(tokens) == len(shares) == 300
    assert tokens[0] == BEGIN
    assert tokens[1] in TOPICS
    assert all(0 <= token < VOCABULARY for token in tokens)
    assert all(0 < share <= 1 for share in shares)


def test_the_recalled_word_is_the_first_of_the_document() -> None:
    language = Language(LANGUAGE_SEED)
    tokens, _ = language.sequence(2000, random.Random(2))  # noqa: S311
    topic = max(at for at in range(len(tokens)) if tokens[at] in TOPICS and RECALL in tokens[at:])
    recalled = tokens.index(RECALL, topic)
    assert tokens[recalled + 1] == tokens[topic + 1]


def test_one_seed_is_one_language() -> None:
    assert Language(1) == Language(1)
    assert Language(1).words != Language(2).words


def test_entropy_is_the_mean_surprise() -> None:
    assert entropy([[1.0, 0.5, 0.25]]) == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_the_target_predicts_the_language_nearly_as_well_as_can_be() -> None:
    language, draw = Language(LANGUAGE_SEED), random.Random(404)  # noqa: S311
    target = open_target(str(embedded_target()), load_contract(CONTRACT), route="numpy")
    surprise, shares = [], []
    for _ in range(20):
        tokens, stated = language.sequence(96, draw)
        logprobs = log_softmax(target.reference(tokens).logits)
        surprise.append(-logprobs[np.arange(95), tokens[1:]].mean())
        shares.append(stated)
    loss = float(np.mean(surprise))
    assert entropy(shares) < loss < entropy(shares) + 0.12
    assert loss < 0.2 * math.log(VOCABULARY)
