"""Words of a command as the engine's own parser takes them: flags, their values, and what belongs to none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eagle3_contracts.evidence import Argument, Word
from eagle3_contracts.launchers import find_flag

_TABLE = "--speculative-config"
_SINGLE = {"--spec-method": "method", "--spec-model": "model", "--spec-tokens": "num_speculative_tokens"}


def parse_arguments(engine: str, words: Sequence[Word]) -> tuple[tuple[Argument, ...], tuple[Word, ...]]:
    """Give the arguments in order, and the words that belong to no flag (a model given by its place, a stray).

    A word that is a variable and nothing else may hold any flags: it becomes an argument without a name.
    """
    arguments: list[Argument] = []
    strays: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if _is_flag(word.text):
            taken = _values_of(engine, words, place)
            place += len(taken)
            arguments.append(_argument(engine, word, taken))
        elif (word.open and word.text.startswith(("$", "`"))) or (word.open and not word.text):
            arguments.append(Argument("", "", (word,), word.line))
        else:
            strays.append(word)
    return tuple(arguments), tuple(strays)


def _is_flag(text: str) -> bool:
    """Tell a flag from a value: a dash and a letter, since ``-1`` is a number."""
    return text.startswith("-") and len(text.lstrip("-")) > 0 and not text.lstrip("-")[0].isdigit() and text[1:2] != "."


def _argument(engine: str, word: Word, taken: Sequence[Word]) -> Argument:
    head, equals, value = word.text.partition("=")
    known = find_flag(engine, head)
    name = known[-1].of if known else ""
    values = (Word(value, word.line, word.open),) if equals else tuple(taken)
    key = head.partition(".")[2] if engine == "vllm" else ""
    if name and not values and _is_negated(engine, head):
        values = (Word("false", word.line),)
    return Argument(head, name, values, word.line, key)


def _is_negated(engine: str, head: str) -> bool:
    return engine == "vllm" and head.startswith("--no-")


def _values_of(engine: str, words: Sequence[Word], place: int) -> list[Word]:
    """Take the words from a place on that are the values of the flag before it; none after ``--flag=value``."""
    head, equals, _ = words[place - 1].text.partition("=")
    known = find_flag(engine, head)
    kind = known[-1].kind if known else "loose"
    if equals or kind == "switch" or (engine == "vllm" and head.startswith("--no-")):
        return []
    taken = []
    while place < len(words):
        candidate = words[place]
        if _is_flag(candidate.text) and not (candidate.text.startswith("{") or not candidate.text):
            break
        taken.append(candidate)
        place += 1
        if kind != "many":
            break
    return taken


def read_speculation(arguments: Sequence[Argument]) -> tuple[Mapping[str, Any], str]:
    """Put vLLM's speculative config together of its JSON, its dotted keys and the three short flags.

    Gives it, and why it could not be read, or nothing.
    """
    config: dict[str, Any] = {}
    for item in arguments:
        text = item.values[0].text if item.values else ""
        if item.name == _TABLE and item.key:
            config[item.key.replace("-", "_")] = _plain(text)
        elif item.name == _TABLE:
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                return config, f"{item.written} is no JSON: {error}"
            if not isinstance(value, dict):
                return config, f"{item.written} is no table, but {type(value).__name__}"
            config |= {str(key).replace("-", "_"): given for key, given in value.items()}
        elif item.name in _SINGLE:
            config[_SINGLE[item.name]] = _plain(text)
    return config, ""


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
