"""What the ``server.*`` clauses on likelihoods and reruns must say at the edges: half the numbers, one row, NaN."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from eagle3_contracts.evidence import Array
from eagle3_contracts.evidence.server import ServedAnswer, ServedPrediction, ServerEvidence, TokenLogprobs
from support.judging.server_answer_cases import F32, blank, counted, likelihoods, predicted, retold, shaken, strange
from support.judging.server_cases import case, without_states
from support.judging.server_evidence import NEW, change_answers, sound_server

AGAIN = ("repeated",)


def rows_of(item: ServedAnswer) -> Array:
    """Give the rows that a sound answer has."""
    assert item.rows is not None
    return item.rows


def of_generated(change: Any) -> ServerEvidence:
    """Change the log-probabilities of the text that was generated alone."""

    def changed(item: ServedAnswer) -> ServedAnswer:
        first = len(item.token_ids) - 1
        rows = tuple(change(row) if row.position >= first else row for row in item.logprobs)
        return dataclasses.replace(item, logprobs=rows)

    return change_answers(changed)


def just_over_half() -> ServerEvidence:
    """Lower 49 of 96 positions of generated text, from the first output on."""
    probes = []
    for number, item in enumerate(sound_server().probes):
        assert item.alone is not None
        first = len(item.token_ids) - 1
        low = range(first, first + (13 if number == 0 else 12))
        rows = tuple(lowered(row) if row.position in low else row for row in item.alone.logprobs)
        probes.append(dataclasses.replace(item, alone=dataclasses.replace(item.alone, logprobs=rows)))
    return sound_server(probes=tuple(probes))


def cut_gaps(found: ServerEvidence, gaps: int) -> ServerEvidence:
    """Predict how clear the first choices are alone."""
    probes = tuple(
        dataclasses.replace(item, prediction=dataclasses.replace(item.prediction, gaps=item.prediction.gaps[:gaps]))
        for item in found.probes
        if item.prediction is not None
    )
    return dataclasses.replace(found, probes=probes)


def lowered(row: TokenLogprobs) -> TokenLogprobs:
    """Lower the likeliest token alone, which moves the largest difference and hardly KL."""
    *rest, last = row.top_logprobs
    assert last is not None
    return dataclasses.replace(row, logprob=None, top_logprobs=(*rest, last - 0.4))


def own_alone(row: TokenLogprobs) -> TokenLogprobs:
    return dataclasses.replace(row, top_ids=(), top_logprobs=())


def blank_late(row: TokenLogprobs) -> TokenLogprobs:
    return blank(row) if row.position >= 10 else row


def short_list(row: TokenLogprobs) -> TokenLogprobs:
    return dataclasses.replace(row, top_logprobs=row.top_logprobs[:8])


def shorter(prediction: ServedPrediction) -> ServedPrediction:
    kept = len(prediction.top_ids) - NEW + 5
    return dataclasses.replace(
        prediction, top_ids=prediction.top_ids[:kept], top_logprobs=prediction.top_logprobs[:kept]
    )


def parting(item: ServedAnswer) -> ServedAnswer:
    told = list(item.output_ids)
    told[3] = (told[3] + 1) % 64
    return dataclasses.replace(item, output_ids=tuple(told))


LIKELIHOODS = (
    case("logprobs", "nearly all blank", "must errored", likelihoods(blank_late)),
    case("logprobs", "drifted in what is generated", "must failed", of_generated(lowered)),
    case("logprobs", "drifted in half of what is generated", "must failed", just_over_half()),
    case("logprobs", "of another model in what is generated", "must failed", of_generated(strange)),
    case("logprobs", "of the text's tokens alone", "must passed", likelihoods(own_alone)),
    case("logprobs", "fewer numbers than tokens", "must passed", likelihoods(short_list)),
    case("logprobs", "of a shorter recording", "must passed", predicted(shorter)),
    case("logprobs", "of a text that parts", "must passed", change_answers(parting)),
    case("logprobs", "of a server that says nothing of itself", "must passed", sound_server(arguments=None)),
)


def by_itself(best: float, second: float | None, *rest: float | None, place: int = 7) -> ServerEvidence:
    """Part the second time where no prediction tells how clear the choice was, and the answer's own numbers do."""
    found = retold(place, runs=("repeated",))
    probes = []
    for item in found.probes:
        assert item.alone is not None
        position = len(item.token_ids) - 1 + place
        rows = tuple(
            dataclasses.replace(row, top_logprobs=(second, *rest, best)) if row.position == position else row
            for row in item.alone.logprobs
        )
        alone = dataclasses.replace(item.alone, logprobs=rows)
        probes.append(dataclasses.replace(item, prediction=None, alone=alone))
    return dataclasses.replace(found, probes=tuple(probes))


def marked(value: float, *runs: str, row: int = 4) -> ServerEvidence:
    """Give rows of which one holds a value that is no number of the others' size."""

    def change(item: ServedAnswer) -> ServedAnswer:
        found = rows_of(item).copy()
        found[row, 0] = value
        return dataclasses.replace(item, rows=found)

    return change_answers(change, runs=runs, at=(2,))


def narrow() -> ServerEvidence:
    """Give rows that are no whole number of planes, larger ones the second time."""

    def cut(factor: float) -> Callable[[ServedAnswer], ServedAnswer]:
        return lambda item: dataclasses.replace(item, rows=rows_of(item)[:, :-3] * factor)

    first = change_answers(cut(1.0), runs=("alone", "batched"))
    again = change_answers(cut(1.2), runs=AGAIN)
    return dataclasses.replace(
        first,
        probes=tuple(
            dataclasses.replace(item, repeated=other.repeated)
            for item, other in zip(first.probes, again.probes, strict=True)
        ),
    )


def untold(found: ServerEvidence) -> ServerEvidence:
    """Leave out the prediction, and the answer's own numbers."""
    probes = tuple(
        dataclasses.replace(item, prediction=None, alone=dataclasses.replace(item.alone, logprobs=()))
        for item in found.probes
        if item.alone is not None
    )
    return dataclasses.replace(found, probes=probes)


RERUNS = (
    case("repeats", "states a little beyond the tolerance", "must failed", shaken(1.04, "repeated")),
    case("repeats", "without states", "must passed", change_answers(without_states)),
    case("repeats", "without states the second time", "must passed", change_answers(without_states, runs=AGAIN)),
    case(
        "repeats",
        "fewer rows the second time",
        "must passed",
        change_answers(lambda item: dataclasses.replace(item, rows=rows_of(item)[3:]), runs=AGAIN),
    ),
    case(
        "repeats",
        "another text in float32, and no telling",
        "must failed",
        untold(retold(7, runs=AGAIN, arguments=F32)),
    ),
    case(
        "repeats",
        "a text that goes on",
        "must failed",
        change_answers(lambda item: dataclasses.replace(item, output_ids=item.output_ids[:5]), runs=("alone",)),
    ),
    case("repeats", "another text, beyond what is predicted", "must passed", cut_gaps(retold(7, runs=AGAIN), 7)),
    case("repeats", "another text, clear by its own numbers", "must failed", by_itself(-0.5, -1.25)),
    case("repeats", "another text, clear by three numbers", "must failed", by_itself(-0.5, -1.25, -3.0, None)),
    case("repeats", "another text, not clear by its own numbers", "must passed", by_itself(-0.5, -0.6, -3.0)),
    case("repeats", "another text, of one number", "must errored", by_itself(-0.5, None)),
    case("repeats", "no count of rounds, float32", "must passed", counted(None, arguments=F32)),
    case(
        "repeats",
        "no count of rounds the second time, float32",
        "must passed",
        counted(None, runs=AGAIN, arguments=F32),
    ),
    case(
        "repeats",
        "no count of rounds the first time, float32",
        "must passed",
        counted(None, runs=("alone",), arguments=F32),
    ),
    case("repeats", "one row", "must failed", marked(50.0, "repeated")),
    case("repeats", "NaN in one row", "must failed", marked(float("nan"), "repeated")),
    case("repeats", "NaN in one row both times", "must passed", marked(float("nan"), "alone", "repeated")),
    case("repeats", "infinite in one row both times", "must passed", marked(float("inf"), "alone", "repeated")),
    case("repeats", "enormous in one row", "must failed", marked(3e38, "repeated")),
    case("repeats", "no whole number of planes", "must failed", narrow()),
)
CASES = (*LIKELIHOODS, *RERUNS)
