"""SGLang's ``--config FILE.yaml``, merged into the arguments as the server merges it.

Read from SGLang 0.5.23 (srt/utils/server_args_config_parser.py): the file's options come before the command's, so
that the command wins; a switch that is false is left out, lists become several values, tables become JSON. Only what
reads the same in every YAML reader is taken: one level of plain or quoted values. Beyond that, nothing is merged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from eagle3_contracts.evidence import Word
from eagle3_contracts.launchers import Flag, find_flag

MOST_BYTES = 1 << 20
_FLAG = "--config"
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NUMBER = re.compile(r"0|-?0\.\d*[1-9]|0\.0|-?[1-9]\d*(?:\.\d*[1-9]|\.0)?")
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.{1,2}/)[^\s#\"'{}\[\],&*!|>%@`]*")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_NULL = ("null", "none")


class _UnreadError(Exception):
    """A value that YAML readers may take differently, or that has several levels."""


def merge_config(words: tuple[Word, ...], folders: tuple[Path, ...]) -> tuple[tuple[Word, ...], str]:
    """Give the words that the server's parser gets, and a note on what was merged; the same words if nothing was."""
    places = [place for place, word in enumerate(words) if word.text == _FLAG]
    if len(places) != 1 or places[0] + 1 == len(words) or words[places[0] + 1].open:
        return words, ""
    place, named = places[0], words[places[0] + 1]
    path = next((folder / named.text for folder in folders if _is_file(folder / named.text)), None)
    if path is None or path.suffix.lower() not in {".yaml", ".yml"}:
        return words, ""
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return words, ""
        given = tuple(Word(text, named.line) for text in _read_options(data.decode("utf-8")))
    except (OSError, UnicodeDecodeError, _UnreadError):
        return words, ""
    note = f"the options in {path.name} come before those of the command, as SGLang 0.5.23 merges {_FLAG}"
    return (*given, *words[:place], *words[place + 2 :]), note


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _read_options(text: str) -> Iterator[str]:
    """Give the words that a flat YAML table becomes."""
    if "\t" in text:
        raise _UnreadError
    seen: set[str] = set()
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#") and line != "---"]
    place = 0
    while place < len(lines):
        found = _KEY.fullmatch(lines[place])
        if found is None or found[1] in seen:
            raise _UnreadError
        if any(flag.kind in {"many", "maybe"} for flag in _find(found[1])):
            raise _UnreadError  # the server refuses these here
        seen.add(found[1])
        place += 1
        if (found[2] or "").strip() and not found[2].startswith("#"):
            yield from _option(found[1], found[2])
            continue
        items = []
        while place < len(lines) and (item := _ITEM.fullmatch(lines[place])):
            items.append(_scalar(item[1]))
            place += 1
        if not items:
            raise _UnreadError
        yield from (f"--{found[1]}", *items)


def _option(key: str, value: str) -> Iterator[str]:
    value = value.strip()
    if value.startswith("{"):
        yield from (f"--{key}", json.dumps(_json(value)))
    elif value.startswith("["):
        items = _items(value)
        yield from (f"--{key}", *items) if items else ()
    else:
        text = _scalar(value)
        if text in {"True", "False"} and any(flag.kind == "switch" for flag in _find(key)):
            yield from (f"--{key}",) if text == "True" else ()
        else:
            yield from (f"--{key}", text.lower() if text in {"True", "False"} else text)


def _find(key: str) -> tuple[Flag, ...]:
    return find_flag("sglang", f"--{key.replace('_', '-')}")


def _items(value: str) -> Sequence[str]:
    if not value.endswith("]"):
        raise _UnreadError
    inside = value[1:-1].strip()
    return [_scalar(item.strip()) for item in inside.split(",")] if inside else []


def _json(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise _UnreadError from None


def _scalar(value: str) -> str:
    """Give a value as Python writes it: ``True`` and ``False`` for YAML's words of both."""
    value = re.sub(r"[ \t]+#.*$", "", value) if value[:1] not in {"'", '"'} else value
    quoted = re.fullmatch(r"\"([^\"\\]*)\"|'([^']*)'", value)
    if quoted:
        text = quoted[1] if quoted[1] is not None else quoted[2]
        if text in {"True", "False"}:
            raise _UnreadError
        return text
    if value.lower() in _TRUE + _FALSE:
        return str(value.lower() in _TRUE)
    if _NUMBER.fullmatch(value) or (_PLAIN.fullmatch(value) and ":" not in value and value.lower() not in _NULL):
        return value
    raise _UnreadError
