"""Sizes of faults of a server, put into recorded evidence.

A sound stand-in is asked once over sockets, for each dtype and role. What it gave is spoiled, rows are held against the
target again by what gathering does, and no socket is opened for that. The stand-in computes in float32, whatever dtype
it says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Literal

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.evidence.server import ServedAnswer, ServedProbe, ServerEvidence, ServerRole
from eagle3_contracts.faults.injecting.servers import StandIn, serve
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause as find_clause
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.references import Reference, compare_later_rows, compare_rows, open_reference
from support.museum.exhibits import sum_up
from support.museum.sensitivity.size import Size

Run = Literal["alone", "repeated", "batched"]
Spoil = Callable[[ServerEvidence, float, int], ServerEvidence]
"""Spoils evidence, given a size and a draw."""
Change = Callable[[ServedAnswer, float, int], ServedAnswer]
"""Spoils one answer, given a size and a draw."""


@cache
def record_server(dtype: str, role: ServerRole) -> ServerEvidence:
    """Give what a sound stand-in that says this dtype, and is of this role, was seen to do."""
    stand_in = StandIn(role=role, inform=lambda info: info | {"dtype": dtype})
    with serve(stand_in) as url:
        options = Options(target=str(embedded_target()))
        return gather(load_contract(CONTRACT), Subject("server", f"{role}={url}", "recorded"), options)


@cache
def _open_reference() -> Reference:
    return open_reference(load_contract(CONTRACT), Options(target=str(embedded_target())))


def server_size(
    what: str,
    clause: str,
    spoil: Spoil,
    high: float,
    *,
    dtype: str = "bfloat16",
    role: ServerRole = "eagle3",
    low: float = 0,
    whole: bool = False,
    drawn: bool = True,
) -> Size:
    """Give a size that is put into what a stand-in of this dtype and role gave."""
    clause = f"server.{clause}"

    def caught(contract: Contract, size: float, draw: int) -> bool:
        sound = record_server(dtype, role)
        evidence = _compare_again(contract, role, sound, spoil(sound, size, draw))
        return sum_up(judge_clause(find_clause(clause), contract, evidence))[clause] == Verdict.FAILED

    return Size(what, clause, caught, low, high, whole, drawn)


def _compare_again(
    contract: Contract, role: ServerRole, sound: ServerEvidence, evidence: ServerEvidence
) -> ServerEvidence:
    """Hold the rows against the target again where they are others than they were."""
    if all(_same_rows(one, other) for one, other in zip(sound.probes, evidence.probes, strict=True)):
        return evidence
    comparison, _ = compare_rows(_open_reference(), contract, role, evidence.probes)
    later = compare_later_rows(_open_reference(), contract, role, evidence.probes)
    return dataclasses.replace(evidence, comparison=comparison, later=later)


def _same_rows(one: ServedProbe, other: ServedProbe) -> bool:
    own, its = get_answer(one, "alone"), get_answer(other, "alone")
    return own.rows is its.rows and own.later_rows is its.later_rows


def in_answers(change: Change, run: Run = "alone") -> Spoil:
    """Spoil every answer of a run, each by a draw of its own."""

    def spoil(evidence: ServerEvidence, size: float, draw: int) -> ServerEvidence:
        def spoiled(number: int, probe: ServedProbe) -> ServedProbe:
            answer = get_answer(probe, run)
            return replace_answer(probe, run, change(answer, size, 100 * draw + number))

        return dataclasses.replace(
            evidence, probes=tuple(spoiled(number, probe) for number, probe in enumerate(evidence.probes))
        )

    return spoil


def get_answer(probe: ServedProbe, run: Run) -> ServedAnswer:
    """Give the answer of a run of a sound server, which gives every one."""
    answer: ServedAnswer | None = getattr(probe, run)
    if answer is None:
        raise ValueError(f"a sound stand-in gave no answer ({run})")
    return answer


def replace_answer(probe: ServedProbe, run: Run, answer: ServedAnswer) -> ServedProbe:
    """Give a probe with another answer of one run."""
    return ServedProbe(
        probe.token_ids,
        answer if run == "alone" else probe.alone,
        answer if run == "repeated" else probe.repeated,
        answer if run == "batched" else probe.batched,
        probe.prediction,
    )
