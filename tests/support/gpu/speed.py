"""Speed with speculation against speed without, on two servers of one target that are asked in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from eagle3_contracts.evidence.server import ServedAnswer
from eagle3_contracts.reports.evidence_file import Speed
from eagle3_contracts.subjects.servers.address import parse_address
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.client import SglangClient
from eagle3_contracts.subjects.servers.transport import Transport

NEW_TOKENS, REPEATS = 256, 5
REQUESTS = (1, 16)
"""Requests at once."""

MEANING = "the embedded target is 64 wide: launches, scheduling and HTTP make up the time, so no real target is meant"


def measure_speed(drafting: str, plain: str, prompts: Sequence[Sequence[int]], requests: int) -> Speed:
    """Ask both servers for the same number of tokens, once to warm up and then in turns; give the medians.

    Fails if a server gives other than what was asked for, or if nothing that was drafted was ever accepted.
    """
    chosen = [tuple(prompts[at % len(prompts)]) for at in range(requests)]
    _ask(drafting, chosen)
    _ask(plain, chosen)
    spent: dict[str, list[float]] = {drafting: [], plain: []}
    answers: list[ServedAnswer] = []
    for _ in range(REPEATS):
        for url, seconds in spent.items():
            taken, given = _ask(url, chosen)
            seconds.append(taken)
            answers += given if url == drafting else []
    counted = [item.counters for item in answers if item.counters is not None and item.counters.rounds]
    rounds = sum(item.rounds or 0 for item in counted)
    assert len(counted) == len(answers), "a drafting server counted no verifications"
    length = sum(len(item.output_ids) for item in answers) / rounds
    assert length > 1.0, "nothing that was drafted was accepted"
    with_, without = statistics.median(spent[drafting]), statistics.median(spent[plain])
    return Speed(
        requests=requests,
        new_tokens=NEW_TOKENS,
        repeats=REPEATS,
        seconds_with=with_,
        seconds_without=without,
        ratio=without / with_,
        accept_length=length,
        meaning=MEANING,
    )


def _ask(url: str, prompts: Sequence[tuple[int, ...]]) -> tuple[float, tuple[ServedAnswer, ...]]:
    client = SglangClient(Transport(parse_address(url)))
    questions = [Question(prompt, NEW_TOKENS) for prompt in prompts]
    began = time.perf_counter()
    answers = client.ask_batch(questions)
    taken = time.perf_counter() - began
    assert {len(item.output_ids) for item in answers} == {NEW_TOKENS}, "another number of tokens than asked for"
    return taken, answers
