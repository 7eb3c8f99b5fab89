"""Whether a request is answered the same in a batch as alone, and twice in a row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eagle3_contracts.clauses.bounds import ROW_FACTOR
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.acceptance import trim
from eagle3_contracts.clauses.server.asking import Answered, Run, find_answers
from eagle3_contracts.clauses.server.likelihoods import common_length
from eagle3_contracts.clauses.server.precision import governing_served
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.tolerances import Governing
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.registry import Clause


@names_stand_ins
def check_batch(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if text or states of a request in a batch leave the tolerance around those that it gets alone."""
    hint = (
        "look for states and KV slots that are cut out by the wrong length or place in the batch, and at "
        "--max-running-requests and data-parallel attention (sglang issue #16274)"
    )
    occasion = f"in a batch of {evidence.batch_size}" if evidence.batch_size else "in a batch"
    return _judge(clause, contract, evidence, "batched", occasion, hint)


@names_stand_ins
def check_repeats(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if text or states of a request are others the second time."""
    hint = "look for what is kept between requests: --disable-radix-cache, KV slots of drafted tokens, captured buffers"
    return _judge(clause, contract, evidence, "repeated", "the second time", hint)


@dataclass(frozen=True, slots=True)
class _Gap:
    """A difference of two answers, ``measure`` against ``bound``; ``open``: whether it is noise cannot be told."""

    told: str
    where: Where
    measure: float
    bound: float
    open: bool = False

    @property
    def excess(self) -> float:
        """How many times over its bound it is."""
        return self.measure / self.bound


def _judge(
    clause: Clause, contract: Contract, evidence: ServerEvidence, run: Run, occasion: str, hint: str
) -> list[Finding]:
    alone, reruns, governing = find_answers(evidence), find_answers(evidence, run), governing_served(contract, evidence)
    if isinstance(alone, Obstacle) or isinstance(reruns, Obstacle) or isinstance(governing, Obstacle):
        obstacle = next(item for item in (alone, reruns, governing) if isinstance(item, Obstacle))
        return [obstacle.finding(clause, evidence.subject)]
    gaps = [gap for one, other in zip(alone, reruns, strict=True) for gap in _measure(contract, governing, one, other)]
    wrong = [gap for gap in gaps if not gap.open and not gap.excess <= 1]
    unsure = [gap for gap in gaps if gap.open]
    if unsure and not wrong:
        reason = f"{unsure[0].told} {occasion}, and how clear the choice was there is not known"
        advice = "give the target, or serve in float32"
        return [Obstacle(reason, advice, unsure[0].where).finding(clause, evidence.subject)]
    bound = f"median relative L2 per plane within {governing.relative_l2:.3g}, every row within "
    expected = f"the same text; {bound}{ROW_FACTOR * governing.relative_l2:.3g} ({governing.dtype})"
    worst = max(wrong or gaps, key=lambda gap: gap.excess, default=None)
    same = f"{say_count(len(alone), 'probe')} answered the same {occasion}"
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=f"{worst.told} {occasion}" if wrong and worst else same,
            expected=expected,
            where=worst.where if wrong and worst else Where(),
            measure=worst.measure if worst else 0.0,
            bound=worst.bound if worst else 2 * governing.logprob,
            hint=hint if wrong else "",
        )
    ]


def _measure(contract: Contract, governing: Governing, one: Answered, other: Answered) -> Iterator[_Gap]:
    noise = 2 * governing.logprob
    mine, its = one.answer.output_ids, other.answer.output_ids
    same = common_length(mine, its)
    if same < max(len(mine), len(its)):
        parted = f"{one.name}, output {same}: {_token(its, same)} instead of {_token(mine, same)}"
        gap = _clearness(one, same)
        unknown = gap is None and governing.dtype != "float32"
        measure = math.inf if gap is None else gap
        yield _Gap(parted, Where(token=same), measure, noise, open=unknown)
    elif (gap_in_rounds := _compare_rounds(governing, one, other)) is not None:
        yield gap_in_rounds
    rows, others = one.answer.rows, other.answer.rows
    if rows is not None and others is not None and rows.shape == others.shape and rows.size:  # else server.rows'
        yield from _measure_rows(contract, governing, one.name, rows, others)


def _compare_rounds(governing: Governing, one: Answered, other: Answered) -> _Gap | None:
    """Compare the rounds behind the same text, in float32, where nothing but a fault moves what is drafted."""
    counts = [item.answer.counters.accepted if item.answer.counters is not None else None for item in (one, other)]
    if governing.dtype != "float32" or counts[0] is None or counts[1] is None:
        return None
    if trim(counts[0]) == trim(counts[1]):
        return None
    told = f"{one.name}: accepted per round {list(counts[1])} instead of {list(counts[0])}"
    return _Gap(told, Where(), math.inf, 2 * governing.logprob)


def _token(ids: Sequence[int], place: int) -> str:
    return f"token {ids[place]}" if place < len(ids) else "the end"


def _clearness(item: Answered, place: int) -> float | None:
    """Give how far the target's two best are apart at an output: by the prediction, else by the answer itself."""
    prediction = item.probe.prediction
    output = item.answer.output_ids
    if place >= len(output):
        return math.inf
    if prediction is not None and place < len(prediction.gaps) and prediction.output_ids[:place] == output[:place]:
        return float(prediction.gaps[place])
    position = len(item.probe.token_ids) - 1 + place
    found = next((row for row in item.answer.logprobs if row.position == position), None)
    best = sorted((value for value in found.top_logprobs if value is not None), reverse=True) if found else []
    return best[0] - best[1] if len(best) > 1 else None


def _measure_rows(contract: Contract, governing: Governing, name: str, rows: Array, others: Array) -> Iterator[_Gap]:
    hidden = contract.target.hidden_size
    count = rows.shape[1] // hidden if rows.shape[1] % hidden == 0 else 1
    for plane, (own, its) in enumerate(
        zip(np.split(rows, count, axis=1), np.split(others, count, axis=1), strict=True)
    ):
        with np.errstate(invalid="ignore"):
            distance = relative_l2(its, own)
        before, after = np.isfinite(own).all(axis=1), np.isfinite(its).all(axis=1)
        distance = np.where(~before & ~after, 0.0, np.where(before & after, distance, np.inf))
        median, row = float(np.median(distance)), int(np.argmax(distance))
        label = f"{name}, plane {plane + 1} of {count}"
        yield _Gap(f"{label}: median relative L2 {median:.3g}", Where(token=None), median, governing.relative_l2)
        told = f"{label}, row {row}: relative L2 {distance[row]:.3g}"
        yield _Gap(told, Where(token=row), float(distance[row]), ROW_FACTOR * governing.relative_l2)
