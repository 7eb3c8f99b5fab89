"""The hidden states that come back: that they do, how many rows, how wide, and whether the values are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.rows import judge_finite, judge_zero_rows, record_plane
from eagle3_contracts.clauses.server.asking import (
    OCCASIONS,
    STATES_FLAGS,
    Answered,
    Run,
    ask_for_states,
    every_answer,
    expected_planes,
    find_answers,
    find_states_obstacle,
)
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import PlaneRecord
from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence
from eagle3_contracts.findings import Finding, Level, Verdict, Where
from eagle3_contracts.registry import Clause

_RADIX, _CHUNK_FLAG = "--disable-radix-cache", "--chunked-prefill-size"
_CHUNKS = f"{_CHUNK_FLAG} -1"
_SHOWN = 3


@names_stand_ins
def check_hidden_states(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if an answer has no states, or states that are no table; skipped if none are switched on."""
    del contract
    answers = find_answers(evidence)
    if isinstance(answers, Obstacle):
        return [answers.finding(clause, evidence.subject)]
    obstacle = find_states_obstacle(evidence)
    if obstacle is not None and obstacle.skips:
        return [obstacle.finding(clause, evidence.subject)]
    asked = [(run, item) for run, item in every_answer(evidence) if run == "alone" or item.answer.asked_states]
    ragged = [f"{item.name}{OCCASIONS[run]}: {item.answer.ragged}" for run, item in asked if item.answer.ragged]
    bare = [(run, item) for run, item in asked if item.answer.rows is None and not item.answer.ragged]
    told = [*ragged[:_SHOWN], *([f"{len(ragged) - _SHOWN} more like these"] if len(ragged) > _SHOWN else [])]
    if bare:
        run, item = bare[0]
        count = f"{len(bare)} of {say_count(len(asked), 'answer')} without hidden states"
        told.append(f"{count}, {item.name}{OCCASIONS[run]} first")
    rows = sum(len(item.answer.rows) for item in answers if item.answer.rows is not None)
    return [
        clause.find(
            Verdict.FAILED if told else Verdict.PASSED,
            evidence.subject,
            observed="; ".join(told) or f"{say_count(len(answers), 'answer')} with {say_count(rows, 'row')}",
            where=Where(flag=STATES_FLAGS[evidence.role or "eagle3"]),
            measure=float(len(ragged) + len(bare)),
            bound=0.0,
            hint=_mend_states(evidence, bare) if told else "",
        )
    ]


def _mend_states(evidence: ServerEvidence, bare: Sequence[tuple[Run, Answered]]) -> str:
    if bare and all(run == "alone" for run, _ in bare):
        return ask_for_states(evidence)
    return (
        "the same server answers other requests with a table, or sends what is none: look at what stands before it "
        "and writes answers anew, and at the engine's release (states of requests that share a batch)"
    )


@names_stand_ins
def check_rows(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if an answer has fewer or more rows than its prompt has tokens, and name the flag that keeps them.

    Violates a should only: all rows came, and the server would lose those of other prompts in silence.
    """
    del contract
    odd = list(_odd_rows(evidence))
    obstacle = find_states_obstacle(evidence)
    if obstacle is not None and (obstacle.skips or not odd):
        return [obstacle.finding(clause, evidence.subject)]
    answers = sum(item.answer.rows is not None for _, item in every_answer(evidence))
    if odd:
        item, told = odd[0]
        return [
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=f"{told}; {len(odd)} of {say_count(answers, 'answer')} so",
                expected="one row per token of the prompt",
                where=Where(flag=_blame(evidence.arguments, item)),
                measure=float(len(odd)),
                bound=0.0,
                hint=_mend_rows(evidence.arguments, item),
            )
        ]
    return [_judge_risks(clause, evidence, answers)]


def _judge_risks(clause: Clause, evidence: ServerEvidence, answers: int) -> Finding:
    """Judge a server of which all rows came: those of longer or repeated prompts may not."""
    risks = list(_risks(evidence))
    if not risks:
        observed = f"one row per token in {say_count(answers, 'answer')}"
        return clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)
    flags = " ".join(flag for flag, _ in risks)
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"all rows of these probes came, but {'; '.join(told for _, told in risks)}",
        where=Where(flag=flags.partition(" ")[0]),
        measure=float(len(risks)),
        bound=0.0,
        hint=f"start the server with {flags}",
        level=Level.SHOULD,
    )


def _odd_rows(evidence: ServerEvidence) -> Iterator[tuple[Answered, str]]:
    for run, item in every_answer(evidence):
        rows, tokens = item.answer.rows, len(item.probe.token_ids)
        if rows is not None and len(rows) != tokens:
            cached = item.answer.cached_tokens or 0
            told = f", {cached} of its tokens from the cache" if cached else ""
            yield item, f"{item.name}{OCCASIONS[run]}: {len(rows)} rows for {tokens} tokens{told}"


def _blame(arguments: ServerArguments | None, item: Answered) -> str:
    """Name the flag that most likely lost the rows."""
    if item.answer.cached_tokens:
        return _RADIX
    chunk = arguments.chunked_prefill if arguments is not None else None
    if chunk is not None and 0 < chunk < len(item.probe.token_ids):
        return _CHUNK_FLAG
    return _RADIX if arguments is not None and arguments.radix_cache else _CHUNK_FLAG


def _mend_rows(arguments: ServerArguments | None, item: Answered) -> str:
    radix, chunk = (arguments.radix_cache, arguments.chunked_prefill) if arguments is not None else (None, None)
    if radix is False and chunk is not None and chunk <= 0 and not item.answer.cached_tokens:
        return (
            "prefixes are not cached and prompts are not cut, by the server's own account: ask one probe at a time, "
            "and look at what stands before it and at the engine's release (rows of requests that share a batch)"
        )
    reasons = "tokens from the cache have no rows, and of a prompt longer than a chunk the last chunk's alone are kept"
    first = _RADIX if _blame(arguments, item) == _RADIX else _CHUNKS
    other = _CHUNKS if first == _RADIX else _RADIX
    return f"start the server with {first} (and {other}): {reasons}"


def _risks(evidence: ServerEvidence) -> Iterator[tuple[str, str]]:
    arguments = evidence.arguments
    if arguments is None:
        return
    if arguments.radix_cache:
        yield _RADIX, "the radix cache is on, and tokens whose prefix is cached have no rows"
    if arguments.chunked_prefill is not None and arguments.chunked_prefill > 0:
        longest = say_count(arguments.chunked_prefill, "token")
        yield _CHUNKS, f"of prompts longer than {longest} the last chunk's rows alone come"


@names_stand_ins
def check_width(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if a row is wider or narrower than the planes that the server should give, side by side."""
    obstacle = find_states_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    hidden, planes = contract.target.hidden_size, expected_planes(contract, evidence)
    wanted = hidden * len(planes)
    widths = [(item, item.answer.rows.shape[1]) for _, item in every_answer(evidence) if item.answer.rows is not None]
    odd = [(f"{item.name}: rows", width) for item, width in widths if width != wanted]
    odd += [(f"{item.name}: rows of generated tokens", width) for item, width in _later(evidence) if width != wanted]
    names = ", ".join(plane.name for plane in planes)
    if not odd:
        observed = f"rows of {wanted} in {say_count(len(widths), 'answer')}: {names}"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=float(wanted), bound=wanted)]
    where, width = odd[0]
    side = f", {say_count(width // hidden, 'plane')} of {hidden}" if width % hidden == 0 else ""
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{where} of {width}{side}; {len(odd)} of {say_count(len(widths), 'answer')} so",
            expected=f"rows of {wanted}: {say_count(len(planes), 'plane')} of {hidden} ({names})",
            measure=float(width),
            bound=float(wanted),
            hint=_mend_width(contract, evidence, width),
        )
    ]


def _later(evidence: ServerEvidence) -> Iterator[tuple[Answered, int]]:
    for _, item in every_answer(evidence):
        rows, later = item.answer.rows, item.answer.later_rows
        if rows is not None and later is not None and later.shape[1] != rows.shape[1]:
            yield item, later.shape[1]


def _mend_width(contract: Contract, evidence: ServerEvidence, width: int) -> str:
    said = (evidence.arguments.algorithm or "") if evidence.arguments is not None else ""
    if width == contract.target.hidden_size and said.upper() == "EAGLE3":
        return (
            "one plane came, where EAGLE3 captures several: the draft's config asks for none "
            "(eagle_config.use_aux_hidden_state false), or names one layer alone"
        )
    if width == contract.target.hidden_size:
        return (
            "one plane came, the final state: the server captures no auxiliary states. Start it with "
            "--speculative-algorithm EAGLE3 (sglang PR #21272: EAGLE captures none)"
        )
    return (
        "an id that is given twice or never reached leaves its plane out: see server.boundary and `eagle3-contracts "
        f"explain {contract.reference}`; the width is the target's, not the drafter's"
    )


def find_records(contract: Contract, evidence: ServerEvidence) -> list[PlaneRecord] | Obstacle:
    """Gather the statistics of every plane over all answers, or say why there are none."""
    obstacle = find_states_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    hidden = contract.target.hidden_size
    tables = [item.answer.rows for _, item in every_answer(evidence) if item.answer.rows is not None]
    widths = sorted({table.shape[1] for table in tables})
    if len(widths) > 1:
        told = " and ".join(map(str, widths))
        return Obstacle(f"answers have rows of {told}, which are not the same planes", "see server.width")
    width = widths[0]
    later = [item.answer.later_rows for _, item in every_answer(evidence)]
    tables += [rows for rows in later if rows is not None and rows.shape[1] == width]
    if width % hidden or not width:
        return Obstacle(f"rows of {width} cannot be cut into planes of {hidden}", "see server.width")
    count = width // hidden
    split = [np.split(table, count, axis=1) for table in tables]
    return [record_plane([planes[index] for planes in split]) for index in range(count)]


@names_stand_ins
def check_finite(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail for every plane that holds NaN or infinite values."""
    records = find_records(contract, evidence)
    if isinstance(records, Obstacle):
        return [records.finding(clause, evidence.subject)]
    return judge_finite(clause, evidence.subject, expected_planes(contract, evidence), records)


@names_stand_ins
def check_zero_rows(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail for every plane that holds rows of zeros."""
    records = find_records(contract, evidence)
    if isinstance(records, Obstacle):
        return [records.finding(clause, evidence.subject)]
    return judge_zero_rows(clause, evidence.subject, expected_planes(contract, evidence), records)
