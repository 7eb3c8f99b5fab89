"""Which of the commands starts a server, and where its arguments begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from eagle3_contracts.evidence import Word
from eagle3_contracts.subjects.launches.shell import Script
from eagle3_contracts.subjects.launches.words import Command

_MODULES = {
    "sglang.launch_server": "sglang",
    "sglang.srt.entrypoints.http_server": "sglang",
    "vllm.entrypoints.openai.api_server": "vllm",
}
_PROGRAMS = {"sglang": "sglang", "vllm": "vllm"}
_IMAGE = re.compile(r"(?:[\w.:-]+/)*vllm/vllm-openai(?:[:@].*)?")
"""The image whose entry point is the server: what follows it in ``docker run`` are the server's arguments."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_ONLY = {
    "sglang": ("--speculative-algorithm", "--speculative-draft-model-path", "--speculative-eagle-topk", "--model-path"),
    "vllm": ("--speculative-config", "--speculative_config", "-sc", "--spec-model", "--spec-method", "--max-model-len"),
}
"""Flags that tell engines apart, where an image's own entry point starts the server and only arguments are written."""


@dataclass(frozen=True, slots=True)
class Start:
    """A command that starts a server: the engine, its arguments, where it begins, the variables set for it."""

    engine: str
    words: tuple[Word, ...]
    line: int | None
    environment: Mapping[str, str]
    notes: tuple[str, ...] = ()


def find_starts(commands: Iterable[Command]) -> Iterator[Start]:
    """Give every command that starts a server, also those that a shell is given as text."""
    for command in commands:
        found = _engine_of(command.words)
        if found is not None:
            engine, first = found
            yield Start(engine, command.words[first:], command.line, {**command.environment, **_env_words(command)})
            continue
        text = _shell_text(command.words)
        if text is not None:
            script = Script(text.text, line=text.line or 1)
            yield from find_starts(script.commands())


def find_bare_arguments(words: tuple[Word, ...]) -> Start | None:
    """Take a list of arguments without a program for what the image's entry point gets, if flags tell the engine."""
    if not words or not words[0].text.startswith("-"):
        return None
    heads = {word.text.partition("=")[0].partition(".")[0] for word in words}
    fits = [engine for engine, only in _ONLY.items() if heads & set(only)]
    if len(fits) != 1:
        return None
    note = f"no program is named: the flags are {fits[0]}'s, and the image's entry point is taken for its server"
    return Start(fits[0], words, words[0].line, {}, (note,))


def _engine_of(words: tuple[Word, ...]) -> tuple[str, int] | None:
    """Give the engine and the place of its first argument."""
    for place, word in enumerate(words):
        following = words[place + 1].text if place + 1 < len(words) else ""
        if word.text == "-m" and following in _MODULES:
            return _MODULES[following], place + 2
        if word.text == "-m" and following in _PROGRAMS and place + 2 < len(words) and words[place + 2].text == "serve":
            return _PROGRAMS[following], place + 3
        if PurePosixPath(word.text).name in _PROGRAMS and following == "serve":
            return _PROGRAMS[PurePosixPath(word.text).name], place + 2
        if _IMAGE.fullmatch(word.text) and following.startswith("--"):
            return "vllm", place + 1
        if word.text.endswith("sglang/launch_server.py"):
            return "sglang", place + 1
    return None


def _shell_text(words: tuple[Word, ...]) -> Word | None:
    for place, word in enumerate(words[:-1]):
        if PurePosixPath(word.text).name in _SHELLS:
            rest = words[place + 1 :]
            if rest and rest[0].text.startswith("-") and rest[0].text.endswith("c") and len(rest) > 1:
                return rest[1]
    return None


def _env_words(command: Command) -> dict[str, str]:
    """Give what ``env NAME=value`` and ``docker run -e NAME=value`` set before the program."""
    found = {}
    for word in command.words:
        name, equals, value = word.text.partition("=")
        if equals and name.isidentifier() and name.isupper():
            found[name] = value
    return found
