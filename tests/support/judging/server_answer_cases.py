"""What the ``server.*`` clauses on text, likelihoods, counters, acceptance and reruns must say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Problem, TargetComparison
from eagle3_contracts.evidence.server import (
    Counters,
    ServedAnswer,
    ServedModel,
    ServedPrediction,
    ServerEvidence,
    TokenLogprobs,
)
from eagle3_contracts.findings import Rung
from support.judging.server_cases import case
from support.judging.server_evidence import (
    NEW,
    SOUND,
    answer,
    broken,
    change_answers,
    counters,
    gone,
    say,
    sound_server,
)

NAMELESS = say(target=ServedModel("/srv/a"), dtype="bfloat16").arguments
F32 = say(dtype="float32", draft_dtype="float32").arguments


def likelihoods(change: Callable[[TokenLogprobs], TokenLogprobs], **options: Any) -> ServerEvidence:
    return change_answers(
        lambda item: dataclasses.replace(item, logprobs=tuple(change(row) for row in item.logprobs)), **options
    )


def scaled(factor: float) -> Callable[[TokenLogprobs], TokenLogprobs]:
    def change(row: TokenLogprobs) -> TokenLogprobs:
        return dataclasses.replace(row, logprob=None, top_logprobs=tuple(value * factor for value in row.top_logprobs))

    return change


def blank(row: TokenLogprobs) -> TokenLogprobs:
    return dataclasses.replace(row, logprob=None, top_logprobs=(None,) * len(row.top_ids))


def blank_early(row: TokenLogprobs) -> TokenLogprobs:
    return blank(row) if row.position < 5 else row


def strange(row: TokenLogprobs) -> TokenLogprobs:
    return dataclasses.replace(row, logprob=None, top_ids=tuple(token + 1000 for token in row.top_ids))


def predicted(change: Callable[[ServedPrediction], ServedPrediction | None], **changes: Any) -> ServerEvidence:
    sound = sound_server(**changes)
    probes = tuple(
        dataclasses.replace(item, prediction=change(item.prediction) if item.prediction else None)
        for item in sound.probes
    )
    return dataclasses.replace(sound, probes=probes)


PARTIAL = TargetComparison(Rung.HEAD, 100)
NO_TARGET = predicted(lambda _: None, comparison=None)
PARTLY = predicted(lambda _: None, comparison=PARTIAL)
UNUSABLE = predicted(lambda _: None, problems=(Problem("target", "the weights are of another model", "give its own"),))

LIKELIHOODS = (
    case("logprobs", "the target's", "must passed"),
    case("logprobs", "of the recording", "must passed", predicted(lambda p: dataclasses.replace(p, recorded=True))),
    case("logprobs", "some blank", "must passed", likelihoods(blank_early)),
    case("logprobs", "drifted", "must failed", likelihoods(scaled(1.3))),
    case("logprobs", "drifted beyond float32", "must failed", sound_server(arguments=F32)),
    case("logprobs", "of another model", "must failed", likelihoods(strange)),
    case("target", "another model by its numbers", "must failed", likelihoods(strange, arguments=NAMELESS)),
    case("logprobs", "all blank", "must errored", likelihoods(blank)),
    case("logprobs", "no target", "must skipped", NO_TARGET),
    case("logprobs", "a part of the target", "must errored", PARTLY),
    case("logprobs", "a target that cannot be used", "must errored", UNUSABLE),
    case("logprobs", "unreachable", "must errored", gone()),
)


def retold(
    place: int, *, at: tuple[int, ...] = (1,), runs: tuple[str, ...] = ("alone",), **options: Any
) -> ServerEvidence:
    """Give answers with another token at one output."""

    def change(item: ServedAnswer) -> ServedAnswer:
        told = list(item.output_ids)
        told[place] = (told[place] + 1) % 64
        return dataclasses.replace(item, output_ids=tuple(told), logprobs=())

    return change_answers(change, at=at, runs=runs, **options)


CLOSE = predicted(lambda p: dataclasses.replace(p, gaps=np.full(NEW, 0.1)))
TEXT = (
    case("greedy-text", "the target's", "must passed"),
    case("greedy-text", "another token where the choice is clear", "must failed", retold(7)),
    case("greedy-text", "another token of a plain server", "must failed", retold(7, role="plain")),
    case("greedy-text", "another token where it is not clear", "must passed", retold(3)),
    case("greedy-text", "nowhere clear", "must errored", CLOSE),
    case("greedy-text", "no target", "must skipped", NO_TARGET),
    case("greedy-text", "half-way", "must errored", broken("truncated", "the answer is empty", 2)),
)


def counted(said: Counters | None, **options: Any) -> ServerEvidence:
    return change_answers(lambda item: dataclasses.replace(item, counters=said), **options)


COUNTERS = (
    case("counters", "in agreement", "must passed"),
    case("counters", "the last round cut", "must passed", counted(counters((6, 4, 2, 1), NEW))),
    case("counters", "another number of rounds", "must failed", counted(counters(rounds=20), at=(1,))),
    case("counters", "more than were given", "must failed", counted(counters((1, 1, 1, 1)))),
    case("counters", "past the end", "must failed", counted(counters((5, 4, 9, 8)))),
    case("counters", "deeper than drafted", "must failed", counted(counters((5, 4, 2, 0, 1)))),
    case("counters", "another length", "must failed", counted(counters(accept_length=2.9))),
    case("counters", "another number of tokens", "must failed", counted(counters(completion_tokens=23))),
    case("counters", "none", "must errored", counted(None)),
    case("counters", "a plain server", "must skipped", sound_server("plain")),
)
WEAK = (20, 2, 0, 0)


def parted(accepted: tuple[int, ...]) -> ServerEvidence:
    """Give texts that part where the choice is not clear, and what is predicted for them as they were served."""
    evidence = retold(3, at=(0, 1, 2, 3))
    probes = tuple(
        dataclasses.replace(item, prediction=dataclasses.replace(item.prediction, accepted_as_served=accepted))
        for item in evidence.probes
        if item.prediction is not None
    )
    return dataclasses.replace(evidence, probes=probes)


ACCEPTED = (
    case("accepted-tokens", "nearly as predicted", "must passed", counted(counters((6, 3, 2, 1)), at=(0,))),
    case("accepted-tokens", "as predicted, float32", "must passed", sound_server(arguments=F32)),
    case(
        "accepted-tokens", "one off in float32", "must failed", counted(counters((6, 3, 2, 1)), at=(0,), arguments=F32)
    ),
    case("accepted-tokens", "far off", "must failed", counted(counters(WEAK))),
    case("accepted-tokens", "too few rounds", "must errored", counted(counters((2, 1)), at=(0, 1, 2, 3))),
    case("accepted-tokens", "another text", "must errored", retold(7, at=(0, 1, 2, 3))),
    case("accepted-tokens", "parted where the choice is not clear", "must passed", parted(SOUND)),
    case("accepted-tokens", "parted, and fewer accepted than then predicted", "must failed", parted((1, 0, 10, 0))),
    case(
        "accepted-tokens",
        "not predicted",
        "must skipped",
        predicted(lambda p: dataclasses.replace(p, accepted=None, unpredicted="the draft is not here")),
    ),
    case("accepted-tokens", "no target", "must skipped", NO_TARGET),
    case("accepted-tokens", "a capture server", "must skipped", sound_server("capture")),
)


def shaped(
    *served: tuple[int, ...], alone: bool = False, expected: tuple[int, ...] = (15, 20, 15, 10)
) -> ServerEvidence:
    """Give probes with these histograms, and the same prediction of each; ``alone``: without a prediction."""

    def predict(item: ServedPrediction | None) -> ServedPrediction | None:
        if item is None or alone:
            return None if item is None else dataclasses.replace(item, accepted=None, unpredicted="not here")
        return dataclasses.replace(item, accepted=expected)

    sound = sound_server()
    probes = []
    for number, item in enumerate(sound.probes):
        said = dataclasses.replace(answer(len(item.token_ids)), counters=counters(served[number % len(served)]))
        probes.append(dataclasses.replace(item, alone=said, prediction=predict(item.prediction)))
    return dataclasses.replace(sound, probes=tuple(probes))


EVEN = (15, 20, 15, 10)
SHAPE = (
    case("acceptance-shape", "as predicted", "should passed", shaped(EVEN)),
    case("acceptance-shape", "low at the first position", "should failed", shaped((50, 5, 3, 2))),
    case("acceptance-shape", "decays too fast", "should failed", shaped((15, 40, 4, 1))),
    case("acceptance-shape", "good up to a length", "should failed", shaped(EVEN, EVEN, (50, 5, 3, 2), (50, 5, 3, 2))),
    case("acceptance-shape", "nothing is accepted", "should failed", shaped((60,))),
    case("acceptance-shape", "one token at most", "should failed", shaped((15, 45))),
    case("acceptance-shape", "nothing beyond a length", "should failed", shaped(EVEN, EVEN, (60,), (60,))),
    case("acceptance-shape", "sound, nothing predicted", "should passed", shaped(EVEN, alone=True)),
    case("acceptance-shape", "hardly ever, nothing predicted", "should failed", shaped((60, 1), alone=True)),
    case("acceptance-shape", "steep, nothing predicted", "should failed", shaped((15, 43, 1, 1), alone=True)),
    case("acceptance-shape", "nothing is accepted or predicted", "should failed", shaped((60,), alone=True)),
    case("acceptance-shape", "one token at most, nothing predicted", "should failed", shaped((15, 45), alone=True)),
    case("acceptance-shape", "too few rounds", "should errored", shaped((2, 1))),
    case("acceptance-shape", "a plain server", "should skipped", sound_server("plain")),
)


def shaken(factor: float, run: str) -> ServerEvidence:
    return change_answers(lambda item: dataclasses.replace(item, rows=item.rows * factor), runs=(run,), at=(2,))


def unclear(run: str) -> ServerEvidence:
    changed = retold(7, runs=(run,))
    probes = tuple(
        dataclasses.replace(
            item,
            prediction=None,
            alone=dataclasses.replace(item.alone, logprobs=()) if item.alone is not None else None,
        )
        for item in changed.probes
    )
    return dataclasses.replace(changed, probes=probes)


WEAKER = counters((8, 4, 1, 1))


def _rerun_cases(clause: str, run: str) -> tuple[Any, ...]:
    return (
        case(clause, "the same", "must passed"),
        case(clause, "other rounds, below float32", "must passed", counted(WEAKER, runs=(run,))),
        case(clause, "other rounds in float32", "must failed", counted(WEAKER, runs=(run,), arguments=F32)),
        case(clause, "other states", "must failed", shaken(1.2, run)),
        case(clause, "states within the tolerance", "must passed", shaken(1.01, run)),
        case(clause, "another text", "must failed", retold(7, runs=(run,))),
        case(clause, "another text where the choice is not clear", "must passed", retold(3, runs=(run,))),
        case(clause, "another text, and no telling how clear", "must errored", unclear(run)),
        case(
            clause,
            "cut short",
            "must failed",
            change_answers(lambda a: dataclasses.replace(a, output_ids=a.output_ids[:5]), runs=(run,)),
        ),
        case(clause, "not made", "must errored", broken("timeout", "nothing came for 60 s", 3)),
    )


CASES = (
    *LIKELIHOODS,
    *TEXT,
    *COUNTERS,
    *ACCEPTED,
    *SHAPE,
    *_rerun_cases("batch", "batched"),
    *_rerun_cases("repeats", "repeated"),
)
