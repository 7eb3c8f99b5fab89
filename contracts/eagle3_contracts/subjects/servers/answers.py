"""``/generate``: one answer, checked piece by piece before anything is believed.

Read in SGLang 0.5.20 to 0.5.23 (managers/tokenizer_manager.py). An answer that is not to the question asked is
``foreign``; one whose parts have other types than they should is ``malformed``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagle3_contracts.evidence.server import Counters, ServedAnswer
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.failing import ServerProblemError, quote
from eagle3_contracts.subjects.servers.hidden_rows import read_rows
from eagle3_contracts.subjects.servers.json_answers import is_number
from eagle3_contracts.subjects.servers.logprobs import read_logprobs

WHERE = "POST /generate"
_HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
"""The second name is that of 0.5.22 and earlier."""


def read_answer(question: Question, answer: object) -> ServedAnswer:
    """Read one answer to one question; raise ``ServerProblemError`` if it is none."""
    if not isinstance(answer, dict) or not isinstance(answer.get("meta_info"), dict):
        raise malformed(f"an answer without a table meta_info: {quote(repr(answer))}")
    meta: Mapping[str, Any] = answer["meta_info"]
    reason = meta.get("finish_reason")
    finish = reason.get("type") if isinstance(reason, dict) else None
    if finish == "abort":
        said = quote(meta["finish_reason"].get("message", "no reason given"))
        raise ServerProblemError("status", f"the server gave the request up: {said}", where=WHERE)
    output = _ids(answer.get("output_ids"))
    prompt_tokens, completion = (_whole(meta, name) for name in ("prompt_tokens", "completion_tokens"))
    _check_whose(question, meta.get("id"), prompt_tokens, output)
    if completion is not None and completion != len(output):
        raise malformed(f"completion_tokens is {completion}, and there are {len(output)} output_ids")
    rows, later, ragged = read_rows(meta.get("hidden_states"))
    return ServedAnswer(
        token_ids=question.token_ids,
        output_ids=output,
        finish=finish if isinstance(finish, str) else "",
        prompt_tokens=prompt_tokens,
        cached_tokens=_whole(meta, "cached_tokens"),
        rows=rows,
        later_rows=later,
        ragged=ragged,
        logprobs=read_logprobs(question, output, meta),
        counters=_counters(meta, completion),
        asked_states=question.hidden_states,
    )


def read_batch(questions: tuple[Question, ...], answer: object) -> tuple[ServedAnswer, ...]:
    """Read the answers to several questions asked at once, in their order."""
    if not isinstance(answer, list):
        raise malformed(f"{len(questions)} requests were asked at once, and the answer is no list")
    if len(answer) != len(questions):
        raise ServerProblemError("foreign", f"{len(answer)} answers to {len(questions)} requests", where=WHERE)
    return tuple(read_answer(question, one) for question, one in zip(questions, answer, strict=True))


def malformed(reason: str) -> ServerProblemError:
    """Give the error of an answer that is not of the engine's form."""
    return ServerProblemError("malformed", reason, where=WHERE)


def _check_whose(question: Question, given: object, prompt_tokens: int | None, output: tuple[int, ...]) -> None:
    asked = len(question.token_ids)
    if given is not None and given != question.request_id:
        reason = f"the answer is to the request {quote(given)}, not to {quote(question.request_id)}"
        raise ServerProblemError("foreign", reason, where=WHERE)
    if prompt_tokens is not None and prompt_tokens != asked:
        reason = f"the answer is to a prompt of {prompt_tokens} tokens, asked was one of {asked}"
        raise ServerProblemError("foreign", reason, where=WHERE)
    if len(output) > question.new_tokens:
        reason = f"the answer has {len(output)} new tokens, asked were {question.new_tokens}"
        raise ServerProblemError("foreign", reason, where=WHERE)


def _ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(_is_id(item) for item in value):
        raise malformed(f"output_ids is no list of token ids: {quote(repr(value)[:200])}")
    return tuple(value)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _whole(meta: Mapping[str, Any], name: str) -> int | None:
    value = meta.get(name)
    if value is None or _is_id(value):
        return value
    raise malformed(f"{name} is {quote(repr(value))}, not a count")


def _counters(meta: Mapping[str, Any], completion: int | None) -> Counters | None:
    """Read what the server counted; None if it says nothing of drafting."""
    rounds, length = _whole(meta, "spec_verify_ct"), meta.get("spec_accept_length")
    accepted = next((meta[name] for name in _HISTOGRAMS if meta.get(name) is not None), None)
    if rounds is None and length is None and accepted is None:
        return None
    if length is not None and not is_number(length):
        raise malformed(f"spec_accept_length is {quote(repr(length))}, not a number")
    if accepted is not None and not (isinstance(accepted, list) and all(_is_id(count) for count in accepted)):
        raise malformed(f"the histogram of accepted tokens is {quote(repr(accepted))}, not a list of counts")
    return Counters(rounds, None if accepted is None else tuple(accepted), length, completion)
