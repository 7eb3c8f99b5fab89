"""Log-probabilities of ``/generate``: triples (log-probability, token id, text or null), most likely ones beside them.

The entry of the first token of a prompt is null, since nothing predicts it; single entries may be null too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.evidence.server import TokenLogprobs
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.failing import ServerProblemError, quote
from eagle3_contracts.subjects.servers.json_answers import is_number

_WHERE = "POST /generate"
_TRIPLE = 2


def read_logprobs(question: Question, output: tuple[int, ...], meta: Mapping[str, Any]) -> tuple[TokenLogprobs, ...]:
    """Read those of prompt and output; raise ``ServerProblemError`` if they are of other tokens (``foreign``)."""
    if meta.get("input_token_logprobs") is None and meta.get("output_token_logprobs") is None:
        return ()
    prompt = len(question.token_ids)
    return (
        *_read("input", question.token_ids, -1, meta),
        *_read("output", output, prompt - 1, meta),
    )


def _read(side: str, tokens: tuple[int, ...], first: int, meta: Mapping[str, Any]) -> Iterator[TokenLogprobs]:
    """Read one side; ``first``: the row that predicts its first token, -1 for none."""
    given, tops = _list(meta, f"{side}_token_logprobs"), _list(meta, f"{side}_top_logprobs")
    if given and len(given) != len(tokens):
        reason = f"{len(given)} {side}_token_logprobs for {len(tokens)} tokens"
        raise ServerProblemError("foreign", reason, where=_WHERE)
    for at, entry in enumerate(given):
        logprob, token = _pair(entry, side)
        if token != tokens[at]:
            reason = f"{side}_token_logprobs holds token {token} at place {at}, where {tokens[at]} stands"
            raise ServerProblemError("foreign", reason, where=_WHERE)
        if first + at < 0:
            continue
        top = [_pair(item, side) for item in _row(tops, at, side)]
        yield TokenLogprobs(first + at, token, logprob, tuple(i for _, i in top), tuple(value for value, _ in top))


def _list(meta: Mapping[str, Any], name: str) -> list[Any]:
    value = meta.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ServerProblemError("malformed", f"{name} is {quote(repr(value))}, not a list", where=_WHERE)
    return value


def _row(tops: list[Any], at: int, side: str) -> list[Any]:
    row = tops[at] if at < len(tops) else None
    if row is None:
        return []
    if not isinstance(row, list):
        raise ServerProblemError("malformed", f"{side}_top_logprobs holds {quote(repr(row))}", where=_WHERE)
    return row


def _pair(entry: object, side: str) -> tuple[float | None, int]:
    if isinstance(entry, list) and len(entry) >= _TRIPLE:
        logprob, token = entry[0], entry[1]
        whole = isinstance(token, int) and not isinstance(token, bool) and 0 <= token < 1 << 31
        if whole and (logprob is None or is_number(logprob)):
            return None if logprob is None else float(logprob), token
    reason = f"an entry of the {side} log-probabilities is {quote(repr(entry))}, not [log-probability, token id, text]"
    raise ServerProblemError("malformed", reason, where=_WHERE)
