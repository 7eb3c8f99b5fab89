"""Faults of single answers: rows lost, foreign, cut or broken, counters and log-probabilities that cannot be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eagle3_contracts.faults.injecting.servers.serving import Asked, Json

Edit = Callable[[Json, Asked], Json]

_HIDDEN = 64


def edit_meta(change: Callable[[Json], Json]) -> Edit:
    """Change parts of ``meta_info``."""

    def edit(given: Json, _: Asked) -> Json:
        return given | {"meta_info": given["meta_info"] | change(given["meta_info"])}

    return edit


def _edit_rows(change: Callable[[list[Any]], list[Any]]) -> Edit:
    """Change all rows, the prompt's block and the later ones alike."""

    def changed(meta: Json) -> Json:
        entries = meta.get("hidden_states")
        if not entries:
            return {}
        return {"hidden_states": [change(entries[0]), *(change([row])[0] for row in entries[1:])]}

    return edit_meta(changed)


def _edit_prompt(change: Callable[[list[Any]], list[Any]]) -> Edit:
    """Change the prompt's block alone."""

    def changed(meta: Json) -> Json:
        entries = meta.get("hidden_states")
        return {"hidden_states": [change(entries[0]), *entries[1:]]} if entries else {}

    return edit_meta(changed)


def lose_cached_rows(given: Json, asked: Asked) -> Json:
    """Leave out the rows of a prefix that is cached: all but the last two, once a prompt was asked before.

    So with a drafter (a real SGLang 0.5.23, EAGLE3). A request for log-probabilities from the first token on is
    computed whole.
    """
    cached = len(asked.prompt) - 2
    if asked.count == 0 or asked.request.get("return_logprob") or cached < 1:
        return given
    counted = edit_meta(lambda _: {"cached_tokens": cached})(given, asked)
    return _edit_prompt(lambda block: block[cached:])(counted, asked)


def lose_chunked_rows(size: int, given: Json, asked: Asked) -> Json:
    """Give the rows of the last chunk of the prefill alone."""
    first = (len(asked.prompt) - 1) // size * size
    return _edit_prompt(lambda block: block[first:])(given, asked)


def lend_rows() -> Edit:
    """Give the rows of the longest prompt asked before, as many as the prompt at hand has tokens."""
    lent: list[list[Any]] = []

    def edit(given: Json, asked: Asked) -> Json:
        entries = given["meta_info"].get("hidden_states")
        if not entries:
            return given
        longest = max(lent, key=len, default=[])
        lent.append(entries[0])
        if len(longest) <= len(asked.prompt):
            return given
        return _edit_prompt(lambda block: longest[-len(block) :])(given, asked)

    return edit


def _null_logprobs(meta: Json) -> Json:
    return {
        name: [[None, *entry[1:]] for entry in meta[name]]
        for name in ("input_token_logprobs", "output_token_logprobs")
        if name in meta
    } | {
        name: [row and [[None, *entry[1:]] for entry in row] for row in meta[name]]
        for name in ("input_top_logprobs", "output_top_logprobs")
        if name in meta
    }


ROW_FAULTS: dict[str, Edit] = {
    "server-answers-another": edit_meta(lambda _: {"id": "0" * 32}),
    "server-answers-a-longer-prompt": edit_meta(lambda meta: {"prompt_tokens": meta["prompt_tokens"] + 5}),
    "server-rows-shifted": _edit_prompt(lambda block: [*block[1:], block[0]]),
    "server-row-too-few": _edit_prompt(lambda block: block[:-1]),
    "server-one-plane": _edit_rows(lambda rows: [row[-_HIDDEN:] for row in rows]),
    "server-rows-of-several-widths": _edit_prompt(lambda block: [block[0][:-1], *block[1:]]),
    "server-rows-of-text": _edit_prompt(lambda block: [["0.5"] * len(block[0]), *block[1:]]),
    "server-rows-null": _edit_prompt(lambda block: [[None] * len(block[0]), *block[1:]]),
    "server-rows-beyond-float32": _edit_prompt(lambda block: [[1e300] * len(block[0]), *block[1:]]),
    "server-rows-zero": _edit_prompt(lambda block: [*block[:-2], *([0.0] * len(block[0]) for _ in block[-2:])]),
    "server-without-rows": edit_meta(lambda _: {"hidden_states": None}),
    "server-logprobs-null": edit_meta(_null_logprobs),
    "server-gives-up": edit_meta(lambda _: {"finish_reason": {"type": "abort", "message": "out of memory"}}),
}
"""By id: how one answer is changed."""
