"""Sizes of faults of what a server drafts: a share of its rounds drafts wrong tokens, from a position on.

The stand-in's engine drafts and verifies again, so that a round that accepts less is followed by more rounds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from eagle3_contracts.evidence.server import Counters, ServerEvidence
from eagle3_contracts.faults.injecting.servers import Engine
from support.museum.sensitivity.served import Spoil, get_answer, replace_answer, server_size
from support.museum.sensitivity.size import Size

LONG = 60
"""Tokens of a text from which it is a long one: three of the recorded prompts, and the ends of others."""


def _draft_wrong(first: int, behind: int = 0) -> Spoil:
    """Draft wrong tokens from position ``first`` of a share of the rounds on, behind so many tokens of the text."""

    def spoil(evidence: ServerEvidence, share: float, draw: int) -> ServerEvidence:
        probes = []
        for number, probe in enumerate(evidence.probes):
            answer = get_answer(probe, "alone")
            engine = Engine(draft=_spoil_chain(first, behind, share, np.random.default_rng([draw, number])))
            accepted = engine.decode(probe.token_ids, len(answer.output_ids)).accepted
            counters = _count(accepted, len(answer.output_ids))
            probes.append(replace_answer(probe, "alone", dataclasses.replace(answer, counters=counters)))
        return dataclasses.replace(evidence, probes=tuple(probes))

    return spoil


def _spoil_chain(
    first: int, behind: int, share: float, chance: np.random.Generator
) -> Callable[[list[int], int], list[int]]:
    def draft(chain: list[int], known: int) -> list[int]:
        if known <= behind or chance.random() >= share:
            return chain
        return [token if at < first else (token + 1) % 256 for at, token in enumerate(chain)]

    return draft


def _count(accepted: tuple[int, ...], tokens: int) -> Counters:
    rounds = len(accepted)
    histogram = tuple(accepted.count(depth) for depth in range(max(accepted) + 1))
    return Counters(rounds, histogram, tokens / rounds, tokens)


_FIRST, _LATER, _LONG = _draft_wrong(0), _draft_wrong(1), _draft_wrong(0, LONG)

SERVER_DRAFT_SIZES: tuple[Size, ...] = (
    server_size("share of rounds that accept nothing", "accepted-tokens", _FIRST, 1.0),
    server_size(
        "share of rounds that accept nothing, of a server in float32", "accepted-tokens", _FIRST, 1.0, dtype="float32"
    ),
    server_size("share of rounds that accept nothing", "acceptance-shape", _FIRST, 1.0),
    server_size("share of rounds that accept one token at most", "acceptance-shape", _LATER, 1.0),
    server_size(f"share of rounds behind {LONG} tokens that accept nothing", "acceptance-shape", _LONG, 1.0),
)
