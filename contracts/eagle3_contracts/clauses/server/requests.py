"""Whether an answer belongs to the request that it was given for (``server.own-request``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import (
    OCCASIONS,
    every_answer,
    expected_planes,
    find_answers,
    name_probe,
)
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServedAnswer, ServerEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_SHOWN = 3
_LEAST_LENT = 2
"""Rows from which they are another prompt's: a single one may be the first token's, which prompts have in common."""


@names_stand_ins
def check_own_request(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail for answers with another prompt's tokens, number of tokens, states, or place in the batch."""
    foreign = [problem for problem in evidence.problems if problem.kind == "foreign"]
    told = [*dict.fromkeys(problem.reason for problem in foreign), *_strange_answers(evidence), *_exchanged(evidence)]
    told += list(_lent_rows(contract, evidence))
    answers = find_answers(evidence)
    if isinstance(answers, Obstacle) and not told:
        return [answers.finding(clause, evidence.subject)]
    count = sum(1 for _ in every_answer(evidence))
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return [
        clause.find(
            Verdict.FAILED if told else Verdict.PASSED,
            evidence.subject,
            observed="; ".join(told[:_SHOWN]) + more or f"{say_count(count, 'answer')}, each to its own request",
            where=foreign[0].where if foreign else Where(),
            measure=float(len(told)),
            bound=0.0,
            hint="look for a proxy or cache that mixes up requests, and for states cut out of a batch by another "
            "request's length or place"
            if told
            else "",
        )
    ]


def _strange_answers(evidence: ServerEvidence) -> Iterator[str]:
    """Say which answers count other tokens, or give log-probabilities of other ones."""
    for run, item in every_answer(evidence):
        tokens, name = item.probe.token_ids, f"{item.name}{OCCASIONS[run]}"
        counted = item.answer.prompt_tokens
        if counted is not None and counted != len(tokens):
            yield f"{name}: the server counts {counted} tokens in the prompt"
        sequence = (*tokens, *item.answer.output_ids)
        for row in item.answer.logprobs:
            at = row.position + 1
            if 0 <= at < len(sequence) and row.token_id != sequence[at]:
                yield f"{name}: token {at} comes back as id {row.token_id}, asked for {sequence[at]}"
                break


def _exchanged(evidence: ServerEvidence) -> Iterator[str]:
    """Say which answers in the batch are another probe's: its text or its rows, and not the probe's own."""
    for run, item in every_answer(evidence):
        own = item.probe.alone
        if own is None:
            continue
        for number, other in enumerate(evidence.probes, 1):
            if other is item.probe or other.alone is None or other.token_ids == item.probe.token_ids:
                continue
            if _is_answer_to(item.answer, own, other.alone):
                yield f"{item.name}{OCCASIONS[run]} gets the answer to {name_probe(number, other)}"


def _is_answer_to(found: ServedAnswer, own: ServedAnswer, other: ServedAnswer) -> bool:
    """Tell whether an answer is another probe's: by its rows, or by its text where an answer has no rows."""
    if found.rows is not None and own.rows is not None and other.rows is not None:
        return np.array_equal(found.rows, other.rows) and not np.array_equal(found.rows, own.rows)
    told_apart = own.output_ids != other.output_ids and len(other.output_ids) > 1
    return told_apart and found.output_ids == other.output_ids


def _lent_rows(contract: Contract, evidence: ServerEvidence) -> Iterator[str]:
    """Say which answers hold rows of another prompt: equal bit for bit, and of no beginning of its own.

    States of a context are its own; the embedding output alone is the same for a token wherever it stands.
    """
    if all(plane.boundary == 0 for plane in expected_planes(contract, evidence)):
        return
    seen: dict[bytes, tuple[int, tuple[int, ...]]] = {}
    for number, probe in enumerate(evidence.probes, 1):
        rows = probe.alone.rows if probe.alone is not None else None
        lent: Counter[int] = Counter()
        for place, row in enumerate(rows if rows is not None else ()):
            if not np.isfinite(row).all() or not row.any():
                continue
            owner, known = seen.setdefault(row.tobytes(), (number, probe.token_ids[: place + 1]))
            if owner != number and known != probe.token_ids[: len(known)]:
                lent[owner] += 1
        for owner, count in lent.items():
            if count < _LEAST_LENT:
                continue
            whose = name_probe(owner, evidence.probes[owner - 1])
            yield f"{say_count(count, 'row')} of {name_probe(number, probe)} are those of {whose}"
