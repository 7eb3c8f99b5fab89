"""What the ``server.*`` clauses on rows and requests must say at the edges: lost, lent, exchanged, of odd widths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Array
from eagle3_contracts.evidence.server import ServedAnswer, ServerEvidence
from support.judging.cases import Case
from support.judging.documents import HIDDEN, toy_contract
from support.judging.server_cases import OFF, case, rows, without_states
from support.judging.server_evidence import LENGTHS, answer, change_answers, say, sound_server

EMBEDDED = toy_contract(drafter={"input": ["embed"]})


def cut(by: int, **said: Any) -> ServerEvidence:
    """Give answers of which the last prompt's first rows are missing, of a server that says how it was started."""
    return rows(lambda table: table[by:], at=(3,), arguments=say(**said).arguments)


def later(width: int, *, odd: tuple[int, ...] = (0, 1, 2, 3)) -> ServerEvidence:
    """Give rows of generated tokens of another width beside some prompts'."""
    return change_answers(lambda item: dataclasses.replace(item, later_rows=np.ones((5, width), np.float32)), at=odd)


def one_answer(**changes: Any) -> ServerEvidence:
    """Give a server of a single answer."""
    sound = sound_server()
    said = dataclasses.replace(answer(LENGTHS[0]), **changes)
    probe = dataclasses.replace(sound.probes[0], alone=said, repeated=None, batched=None)
    return dataclasses.replace(sound, probes=(probe,))


PROMPT = LENGTHS[3]
STATES = (
    case("rows", "none came, though they are switched on", "must errored", change_answers(without_states)),
    case(
        "rows",
        "none came, of a server that says nothing",
        "must errored",
        change_answers(without_states, arguments=None),
    ),
    case(
        "rows",
        "some came, though they are switched off",
        "must errored",
        change_answers(without_states, at=(1,), arguments=OFF.arguments),
    ),
    case(
        "rows",
        "not with every answer of a capture server",
        "must errored",
        change_answers(without_states, at=(1,), role="capture"),
    ),
    case(
        "rows",
        "not with every answer of no known role",
        "must errored",
        dataclasses.replace(change_answers(without_states, at=(1,)), role=None),
    ),
    case("rows", "lost by a chunk, with a cache", "must failed", cut(40, chunked_prefill=32, radix_cache=True)),
    case("rows", "lost in one chunk, with a cache", "must failed", cut(40, chunked_prefill=PROMPT, radix_cache=True)),
    case(
        "rows", "lost in one chunk, without a cache", "must failed", cut(40, chunked_prefill=PROMPT, radix_cache=False)
    ),
    case("rows", "lost without chunks, with a cache", "must failed", cut(40, chunked_prefill=-1, radix_cache=True)),
    case("rows", "lost, chunks not said", "must failed", cut(40, chunked_prefill=None, radix_cache=True)),
    case("rows", "lost in chunks of nothing", "must failed", cut(40, chunked_prefill=0, radix_cache=False)),
    case(
        "rows", "lost in chunks of nothing, with a cache", "must failed", cut(40, chunked_prefill=0, radix_cache=True)
    ),
    case(
        "rows", "lost in chunks of one, without a cache", "must failed", cut(40, chunked_prefill=1, radix_cache=False)
    ),
    case("rows", "lost in chunks of one token", "must failed", cut(40, chunked_prefill=1, radix_cache=True)),
    case(
        "rows",
        "lost by a server that says nothing",
        "must failed",
        rows(lambda table: table[40:], at=(3,), arguments=None),
    ),
    case("rows", "chunks of nothing are no risk", "must passed", say(chunked_prefill=0)),
    case("rows", "chunks of one token are one", "should failed", say(chunked_prefill=1)),
    case(
        "width",
        "one plane of EAGLE",
        "must failed",
        rows(lambda t: t[:, :HIDDEN], arguments=say(algorithm="EAGLE").arguments),
    ),
    case(
        "width",
        "one plane of no algorithm",
        "must failed",
        rows(lambda t: t[:, :HIDDEN], arguments=say(algorithm=None).arguments),
    ),
    case(
        "width", "one plane of a server that says nothing", "must failed", rows(lambda t: t[:, :HIDDEN], arguments=None)
    ),
    case("width", "another one of generated tokens", "must failed", later(HIDDEN)),
    case("width", "the same of generated tokens", "must passed", later(3 * HIDDEN)),
    case("finite", "one answer", "must passed", one_answer()),
    case("finite", "no width", "must errored", rows(lambda table: table[:, :0])),
    case("finite", "of several widths", "must errored", rows(lambda table: table[:, :HIDDEN], at=(3,))),
    case(
        "finite",
        "NaN in rows of generated tokens",
        "must failed, must failed, must failed",
        change_answers(
            lambda item: dataclasses.replace(item, later_rows=np.full((5, 24), np.nan, np.float32)), at=(0,)
        ),
    ),
    case(
        "finite",
        "NaN in rows of generated tokens of another width",
        "must passed",
        change_answers(lambda item: dataclasses.replace(item, later_rows=np.full((5, 8), np.nan, np.float32)), at=(0,)),
    ),
)


def rows_of(item: ServedAnswer) -> Array:
    """Give the rows that a sound answer has."""
    assert item.rows is not None
    return item.rows


def rows_as(change: Callable[[Array], Array], *at: int) -> ServerEvidence:
    """Change the rows of some probes in every run."""

    return rows(lambda table: change(table.copy()), at=at or (0, 1, 2, 3))


OTHER = rows_of(answer(58))


def lend(count: int, first: float | None = None) -> Callable[[Array], Array]:
    """Give the first rows of another prompt's answer; ``first``: what the very first row holds instead."""

    def lent(table: Array) -> Array:
        table[:count] = OTHER[:count]
        if first is not None:
            table[0] = first
        return table

    return lent


def with_common_prompt() -> ServerEvidence:
    """Give two prompts with their first tokens in common, and the rows of those."""
    sound = sound_server()
    one, other = sound.probes[2:]
    assert one.alone is not None
    assert other.alone is not None
    tokens = (*one.token_ids[:6], *other.token_ids[6:])
    table = np.concatenate([rows_of(one.alone)[:6], rows_of(other.alone)[6:]])
    said = dataclasses.replace(other.alone, token_ids=tokens, rows=table, logprobs=())
    again = dataclasses.replace(other, token_ids=tokens, alone=said, repeated=said, batched=said)
    return dataclasses.replace(sound, probes=(*sound.probes[:3], again))


def at_position(position: int, token: int) -> ServerEvidence:
    """Give a log-probability of one token more, which stands elsewhere."""

    def change(item: ServedAnswer) -> ServedAnswer:
        more = dataclasses.replace(item.logprobs[0], position=position, token_id=token)
        return dataclasses.replace(item, logprobs=(*item.logprobs, more))

    return change_answers(change, at=(0,), runs=("alone",))


def exchanged(outputs: int) -> ServerEvidence:
    """Give answers without states, the first probe's in the batch another's; all of so many tokens."""
    bare = change_answers(
        lambda item: dataclasses.replace(item, rows=None, output_ids=item.output_ids[:outputs], logprobs=())
    )
    other = bare.probes[1].alone
    first = dataclasses.replace(bare.probes[0], batched=other and dataclasses.replace(other, prompt_tokens=LENGTHS[0]))
    return dataclasses.replace(bare, probes=(first, *bare.probes[1:]))


def in_batch(at: int, other: int, **kept: bool) -> ServerEvidence:
    """Give one probe's answer in the batch to another; ``kept``: what it has of its own, or does not have at all."""
    sound = sound_server()
    mine, its = sound.probes[at].alone, sound.probes[other].alone
    assert mine is not None
    assert its is not None
    own = {name: getattr(mine, name) for name in ("prompt_tokens", *(name for name in kept if kept[name]))}
    said = dataclasses.replace(its, logprobs=(), **own, **dict.fromkeys(name for name in kept if not kept[name]))
    probes = list(sound.probes)
    probes[at] = dataclasses.replace(probes[at], batched=said)
    return dataclasses.replace(sound, probes=tuple(probes))


def without_first(found: ServerEvidence) -> ServerEvidence:
    """Leave out the first answer that was given alone."""
    return dataclasses.replace(
        found, probes=(dataclasses.replace(found.probes[0], alone=None), *found.probes[1:]), problems=()
    )


ZEROED, NANS = 0.0, float("nan")
REQUESTS = (
    case("own-request", "exchanged in the batch, without states", "must failed", exchanged(24)),
    case("own-request", "two tokens exchanged, without states", "must failed", exchanged(2)),
    case("own-request", "one token exchanged, without states", "must passed", exchanged(1)),
    case("own-request", "no tokens, without states", "must passed", exchanged(0)),
    case(
        "own-request",
        "other tokens of two prompts",
        "must failed",
        change_answers(
            lambda item: dataclasses.replace(item, logprobs=answer(90).logprobs), at=(0, 1), runs=("alone",)
        ),
    ),
    case("own-request", "another first token", "must failed", at_position(-1, 63)),
    case("own-request", "a token before the first", "must passed", at_position(-2, 63)),
    case("own-request", "a token after the last", "must passed", at_position(LENGTHS[0] + 23, 63)),
    case("own-request", "another's rows in the batch", "must failed", in_batch(3, 2, output_ids=True)),
    case("own-request", "another's text in the batch", "must passed", in_batch(3, 2, rows=True)),
    case("own-request", "another's text in the batch, without states", "must failed", in_batch(3, 2, rows=False)),
    case("own-request", "exchanged beside one that is not there", "must failed", without_first(in_batch(3, 2))),
    case("own-request", "NaN everywhere", "must passed", rows_as(lambda table: np.full_like(table, np.nan))),
    case("own-request", "two rows of another prompt", "must failed", rows_as(lend(2), 3)),
    case("own-request", "one row of another prompt", "must passed", rows_as(lend(1), 3)),
    case("own-request", "rows of another prompt after zeros", "must failed", rows_as(lend(5, ZEROED), 3)),
    case("own-request", "rows of another prompt after NaN", "must failed", rows_as(lend(5, NANS), 3)),
    case("own-request", "zeros everywhere", "must passed", rows_as(np.zeros_like)),
    case(
        "own-request",
        "rows of two other prompts",
        "must failed",
        rows_as(lambda table: np.concatenate([rows_of(answer(17))[:1], OTHER[1:5], table[5:]]), 3),
    ),
    case("own-request", "rows of tokens in common", "must passed", with_common_prompt()),
    case("own-request", "rows of the embedding", "must passed", rows_as(lend(5), 3), EMBEDDED),
    case(
        "own-request",
        "the same state for one token twice",
        "must passed",
        rows_as(lambda table: table[[0, *range(len(table) - 1)]]),
    ),
)
CASES: tuple[Case, ...] = (*STATES, *REQUESTS)
