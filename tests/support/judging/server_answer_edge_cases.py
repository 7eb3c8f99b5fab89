"""What the ``server.*`` clauses on answers must say at the edges: unclear texts, odd counts, half the evidence."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServerEvidence
from support.judging.server_answer_cases import (
    EVEN,
    F32,
    counted,
    predicted,
    retold,
    shaped,
)
from support.judging.server_cases import case
from support.judging.server_evidence import NEW, SOUND, change_answers, counters, say, sound_server

ALL = (0, 1, 2, 3)


def parted(place: int, gap: float, *, gaps: int = NEW) -> ServerEvidence:
    """Give texts that part at an output, how clear the choice was there, and what follows for them as served."""
    probes = []
    for item in retold(place, at=ALL).probes:
        assert item.prediction is not None
        clear = np.where(np.arange(NEW) == place, gap, item.prediction.gaps)[:gaps]
        told = dataclasses.replace(item.prediction, gaps=clear, accepted_as_served=SOUND)
        probes.append(dataclasses.replace(item, prediction=told))
    return sound_server(probes=tuple(probes))


def unsimulated(*reasons: str | None) -> ServerEvidence:
    """Give predictions of texts alone, each for its own reason; None for a probe without any."""
    probes = []
    for item, reason in zip(sound_server().probes, reasons, strict=True):
        assert item.prediction is not None
        told = dataclasses.replace(item.prediction, accepted=None, unpredicted=reason or "")
        probes.append(dataclasses.replace(item, prediction=None if reason is None else told))
    return sound_server(probes=tuple(probes))


def foretold(accepted: tuple[int, ...], served: tuple[int, ...], **options: Any) -> ServerEvidence:
    """Give histograms that were predicted, and others that were served."""
    found = predicted(lambda p: dataclasses.replace(p, accepted=accepted), **options)
    said = counters(served)
    return dataclasses.replace(
        found,
        probes=tuple(
            dataclasses.replace(item, alone=dataclasses.replace(item.alone, counters=said))
            for item in found.probes
            if item.alone is not None
        ),
    )


ACCEPTED = (
    case("accepted-tokens", "parted where the choice is clear", "must errored", parted(7, 0.6)),
    case("accepted-tokens", "parted where it is as clear as noise", "must passed", parted(7, 0.5)),
    case("accepted-tokens", "parted where no clearness is known", "must errored", parted(7, 0.1, gaps=7)),
    case(
        "accepted-tokens",
        "not predicted, for two reasons",
        "must skipped",
        unsimulated("no draft", "no torch", "", None),
    ),
    case("accepted-tokens", "not predicted, for no known reason", "must skipped", unsimulated("", "", "", "")),
    case("accepted-tokens", "just enough rounds", "must failed", counted(counters((3,)), at=(0, 1))),
    case("accepted-tokens", "a shorter histogram", "must failed", counted(counters((6, 6)))),
    case("accepted-tokens", "zeros at the end, float32", "must passed", counted(counters((*SOUND, 0)), arguments=F32)),
    case("accepted-tokens", "no rounds, float32", "must failed", counted(counters((0, 0)), arguments=F32)),
    case(
        "accepted-tokens", "no rounds, as predicted, float32", "must passed", foretold((0,), (0, 0, 0), arguments=F32)
    ),
    case(
        "accepted-tokens", "one off at the end, float32", "must failed", counted(counters((5, 4, 1, 2)), arguments=F32)
    ),
)


def ended(finish: str, outputs: int = 5) -> ServerEvidence:
    """Give texts of which the second ends after some tokens, and why."""
    return change_answers(
        lambda item: dataclasses.replace(item, output_ids=item.output_ids[:outputs], logprobs=(), finish=finish),
        at=(1,),
    )


TEXT = (
    case("greedy-text", "another token at the first output", "must failed", retold(0)),
    case("greedy-text", "ends early", "must failed", ended("stop")),
    case("greedy-text", "ends early, for a long reason", "must failed", ended("x" * 60)),
    case("greedy-text", "ends early, for no reason", "must failed", ended("")),
    case("greedy-text", "ends early by its length", "must passed", ended("length")),
    case("greedy-text", "ends as asked, by another name", "must passed", ended("stop", NEW)),
    case(
        "greedy-text",
        "some predicted",
        "must skipped",
        sound_server(
            probes=(
                *sound_server().probes[:2],
                *(dataclasses.replace(p, prediction=None) for p in sound_server().probes[2:]),
            )
        ),
    ),
    case(
        "greedy-text",
        "a target that cannot be run",
        "must errored",
        predicted(
            lambda _: None,
            problems=(Problem("needs", "the target needs torch", "pip install torch"),),
        ),
    ),
)


def one_token(outputs: int, **said: Any) -> ServerEvidence:
    """Give answers of few tokens, and what is counted of them."""
    change = {"counters": counters(**{"given": outputs, **said})}
    return change_answers(lambda item: dataclasses.replace(item, output_ids=item.output_ids[:outputs], **change))


COUNTERS = (
    case("counters", "a histogram without rounds", "must errored", counted(counters(rounds=None))),
    case(
        "counters",
        "rounds without a histogram",
        "must errored",
        counted(dataclasses.replace(counters(), accepted=None)),
    ),
    case("counters", "tokens that are not counted", "must passed", counted(counters(completion_tokens=None))),
    case("counters", "the last round cut to its first token", "must passed", counted(counters((4, 4, 2, 2)))),
    case("counters", "a length without the first token", "must passed", counted(counters(accept_length=23 / 12))),
    case("counters", "one round", "must failed", one_token(5, accepted=(0, 0, 0, 1), accept_length=1.0)),
    case("counters", "one token of no round", "must passed", one_token(1, accepted=(0,))),
    case("counters", "no token of no round", "must failed", one_token(0, accepted=(0,))),
    case(
        "counters",
        "deeper than the draft, steps not said",
        "must failed",
        counted(counters((5, 4, 2, 0, 1)), arguments=say(steps=None).arguments),
    ),
    case(
        "counters",
        "deeper than the steps, draft tokens not said",
        "must failed",
        counted(counters((5, 4, 2, 0, 1)), arguments=say(draft_tokens=None).arguments),
    ),
    case(
        "counters",
        "deeper than one step",
        "must failed",
        counted(counters(), arguments=say(steps=1, draft_tokens=2).arguments),
    ),
    case(
        "counters",
        "a depth that is not said",
        "must passed",
        counted(counters(), arguments=say(steps=None, draft_tokens=None).arguments),
    ),
    case(
        "counters",
        "one token drafted, which is the target's",
        "must passed",
        counted(counters(), arguments=say(draft_tokens=1).arguments),
    ),
)


def answered(*missing: str, problems: tuple[Problem, ...] = (), notes: tuple[str, ...] = ()) -> ServerEvidence:
    """Give a server of which the last probe has no answer in some runs."""
    sound = sound_server()
    last = dataclasses.replace(sound.probes[-1], **dict.fromkeys(missing))  # type: ignore[arg-type]
    return dataclasses.replace(sound, probes=(*sound.probes[:-1], last), problems=problems, notes=notes)


TARGET_GONE = Problem("target", "the target is another", "give the target")
LATE = Problem("timeout", "nothing came for 60 s", "look into the server's log")
ANOTHERS = Problem("foreign", "the answer's id is another's", "look for a proxy")
MISSING = (
    case("counters", "three of four answered", "must errored", answered("alone", notes=("a note", "another"))),
    case(
        "counters", "a timeout beside another target", "must errored", answered("alone", problems=(TARGET_GONE, LATE))
    ),
    case(
        "counters",
        "another's answer beside another target",
        "must errored",
        answered("alone", problems=(TARGET_GONE, ANOTHERS)),
    ),
    case("counters", "another target alone", "must errored", answered("alone", problems=(TARGET_GONE,))),
    case("batch", "not all of them", "must errored", answered("batched")),
    case("batch", "not all alone", "must errored", answered("alone")),
)


def shape_of(probes: tuple[int, ...], *served: tuple[int, ...], alone: bool = False, **changes: Any) -> ServerEvidence:
    """Give histograms of chosen probes."""
    found = shaped(*served, alone=alone)
    chosen = tuple(found.probes[number] for number in probes)
    told = [counters(served[at % len(served)]) for at in range(len(chosen))]
    return dataclasses.replace(
        found,
        probes=tuple(
            dataclasses.replace(item, alone=dataclasses.replace(item.alone, counters=said))
            for item, said in zip(chosen, told, strict=True)
            if item.alone is not None
        ),
        **changes,
    )


LOW = (50, 5, 3, 2)
UNKNOWN_DEPTH = {"arguments": say(steps=None, draft_tokens=None).arguments}
SHAPE = (
    case("acceptance-shape", "nothing counted", "should errored", counted(None)),
    case("acceptance-shape", "nothing is accepted, as predicted", "should passed", shaped((60,), expected=(60,))),
    case("acceptance-shape", "nothing at the last position", "should failed", shaped((15, 20, 25))),
    case("acceptance-shape", "one probe", "should failed", shape_of((0,), LOW)),
    case("acceptance-shape", "of one length", "should failed", shape_of((1, 1), EVEN, LOW)),
    case(
        "acceptance-shape",
        "good up to a length, one of them short",
        "should failed",
        shape_of((0, 1, 1, 1), EVEN, EVEN, LOW, LOW),
    ),
    case(
        "acceptance-shape",
        "good up to a length, two of them short",
        "should failed",
        shape_of((0, 0, 1, 2), EVEN, EVEN, LOW, LOW),
    ),
    case(
        "acceptance-shape",
        "good up to a length, one of them long",
        "should failed",
        shape_of((0, 0, 0, 3), EVEN, EVEN, EVEN, LOW),
    ),
    case("acceptance-shape", "no rounds in long texts", "should passed", shaped(EVEN, EVEN, (0,), (0,))),
    case("acceptance-shape", "no rounds in short texts", "should failed", shaped((0,), (0,), LOW, LOW)),
    case(
        "acceptance-shape",
        "one position of a depth that is not said",
        "should passed",
        shape_of(ALL, (15, 45), alone=True, **UNKNOWN_DEPTH),
    ),
)


CASES = (*ACCEPTED, *TEXT, *COUNTERS, *MISSING, *SHAPE)
