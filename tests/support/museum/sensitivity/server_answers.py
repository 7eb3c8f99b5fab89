"""Sizes of faults of the numbers and texts that a server gives."""

from __future__ import annotations

import dataclasses

import numpy as np

from eagle3_contracts.evidence.server import ServedAnswer, ServedModel, ServerEvidence, TokenLogprobs
from support.museum.sensitivity.served import Run, Spoil, get_answer, in_answers, replace_answer, server_size
from support.museum.sensitivity.size import Size, pick


def _move(row: TokenLogprobs, by: list[float]) -> TokenLogprobs:
    """Move the token's own log-probability and each of the most likely ones."""
    own, *tops = by
    moved = tuple(None if value is None else value + more for value, more in zip(row.top_logprobs, tops, strict=False))
    logprob = None if row.logprob is None else row.logprob + own
    return dataclasses.replace(row, logprob=logprob, top_logprobs=moved)


def _noise(answer: ServedAnswer, nats: float, draw: int) -> ServedAnswer:
    chance = np.random.default_rng(draw)
    rows = [_move(row, (nats * chance.standard_normal(1 + len(row.top_logprobs))).tolist()) for row in answer.logprobs]
    return dataclasses.replace(answer, logprobs=tuple(rows))


def _lower(answer: ServedAnswer, nats: float, _: int) -> ServedAnswer:
    rows = [_move(row, [-nats] * (1 + len(row.top_logprobs))) for row in answer.logprobs]
    return dataclasses.replace(answer, logprobs=tuple(rows))


def _take_next(answer: ServedAnswer, share: float, draw: int) -> ServedAnswer:
    """Give a share of the positions the most likely tokens of the next one, which say nothing of the text's own."""
    rows = list(answer.logprobs)
    for at in pick(len(rows) - 1, round(share * (len(rows) - 1)), draw):
        other = answer.logprobs[at + 1]
        rows[at] = dataclasses.replace(rows[at], logprob=None, top_ids=other.top_ids, top_logprobs=other.top_logprobs)
    return dataclasses.replace(answer, logprobs=tuple(rows))


def _unnamed(evidence: ServerEvidence, share: float, draw: int) -> ServerEvidence:
    """Give a share of the positions other numbers, of a target under a name that does not tell what it is."""
    assert evidence.arguments is not None
    arguments = dataclasses.replace(evidence.arguments, target=ServedModel("someone/unnamed"))
    return in_answers(_take_next)(dataclasses.replace(evidence, arguments=arguments), share, draw)


def _change_texts(run: Run) -> Spoil:
    """Put another token into one output of so many probes' texts."""

    def spoil(evidence: ServerEvidence, count: float, draw: int) -> ServerEvidence:
        probes = list(evidence.probes)
        for at in pick(len(probes), count, draw):
            answer = get_answer(probes[at], run)
            output = list(answer.output_ids)
            place = int(np.random.default_rng([draw, at]).integers(len(output)))
            output[place] = (output[place] + 1) % 256
            probes[at] = replace_answer(probes[at], run, dataclasses.replace(answer, output_ids=tuple(output)))
        return dataclasses.replace(evidence, probes=tuple(probes))

    return spoil


def _misstate(answer: ServedAnswer, off: float, _: int) -> ServedAnswer:
    assert answer.counters is not None
    assert answer.counters.accept_length is not None
    counters = dataclasses.replace(answer.counters, accept_length=answer.counters.accept_length + off)
    return dataclasses.replace(answer, counters=counters)


_NOISE, _LOWER, _NEXT = in_answers(_noise), in_answers(_lower), in_answers(_take_next)

SERVER_ANSWER_SIZES: tuple[Size, ...] = (
    server_size("noise on log-probabilities, standard deviation in nats", "logprobs", _NOISE, 0.5),
    server_size("noise on log-probabilities of a server in float32", "logprobs", _NOISE, 0.005, dtype="float32"),
    server_size("log-probabilities that are lower by so many nats", "logprobs", _LOWER, 0.5, drawn=False),
    server_size("share of positions with the next one's numbers", "logprobs", _NEXT, 1.0),
    server_size("the same share, of a target that nothing names", "target", _unnamed, 1.0),
    server_size("texts of 8 with another token at one output", "greedy-text", _change_texts("alone"), 8, whole=True),
    server_size("texts of 8 with another token in a batch", "batch", _change_texts("batched"), 8, whole=True),
    server_size("texts of 8 with another token the second time", "repeats", _change_texts("repeated"), 8, whole=True),
    server_size(
        "accept lengths that are stated larger by so much", "counters", in_answers(_misstate), 1.0, drawn=False
    ),
)
