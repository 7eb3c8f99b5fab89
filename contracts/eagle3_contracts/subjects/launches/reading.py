"""A file or a command line, taken apart into the one command that starts a server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from eagle3_contracts.evidence import Argument, LaunchEvidence, NamedModel, Problem, Word
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.launches.arguments import parse_arguments, read_speculation
from eagle3_contracts.subjects.launches.containers import (
    Piece,
    UnreadError,
    read_dockerfile,
    read_json,
    read_unit,
    read_yaml,
)
from eagle3_contracts.subjects.launches.merging import merge_config
from eagle3_contracts.subjects.launches.models import look_at_model
from eagle3_contracts.subjects.launches.shell import Script
from eagle3_contracts.subjects.launches.starting import Start, find_bare_arguments, find_starts
from eagle3_contracts.subjects.launches.words import Command, ShellError

_REMEDIES = {
    "ambiguous": "give the one that is meant as a command line, or in a file of its own",
    "unsupported": "give the command line itself, as the server will get it",
    "corrupt": "mend the line that is named, and see that a shell reads it as it is meant",
}
MOST_BYTES = 1 << 20
"""A launch file beyond this is no launch file."""
_REMEDY = "give the file or the command line that starts the server: python -m sglang.launch_server ..., vllm serve ..."
_READERS: dict[str, Callable[[str], tuple[Piece, ...]]] = {
    ".json": read_json,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".service": read_unit,
    ".dockerfile": read_dockerfile,
}


def read_launch(label: str, value: str) -> LaunchEvidence:
    """Read a launch command; see ``gather``."""
    if not os.path.lexists(value):
        if len(value.split()) < 2 and not value.lstrip().startswith("["):
            raise SubjectError(value, "there is no such file, and one word starts no server", remedy=_REMEDY)
        return _judge_text(label, value, "", (Path.cwd(),))
    path = Path(value)
    if not path.is_file():
        raise SubjectError(value, "this is no file", remedy=_REMEDY)
    evidence = LaunchEvidence(label, source=path.name)
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SubjectError(value, str(error.strerror or error), remedy="make the file readable") from None
    if len(data) > MOST_BYTES:
        return _with_problem(evidence, "unsupported", f"the file is larger than {MOST_BYTES:,} bytes", None)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _with_problem(evidence, "corrupt", f"the file is no text: {error.reason} at byte {error.start}", None)
    if "\0" in text:
        return _with_problem(evidence, "corrupt", "the file is no text: it holds zero bytes", None)
    return _judge_text(label, text, path.name, (path.parent, Path.cwd()))


def _judge_text(label: str, text: str, source: str, folders: tuple[Path, ...]) -> LaunchEvidence:
    """Find the one command in a text and take it apart."""
    evidence = LaunchEvidence(label, source=source)
    notes: list[str] = []
    try:
        starts = list(_find_all(text, source, notes))
    except ShellError as error:
        return _with_problem(evidence, "corrupt", error.reason, error.line)
    except UnreadError as error:
        return _with_problem(evidence, "unsupported", error.reason, error.line)
    if not starts:
        return _with_problem(evidence, "missing", "no command in it starts SGLang or vLLM", None)
    if len(starts) > 1:
        lines = ", ".join(str(start.line) for start in starts)
        return _with_problem(evidence, "ambiguous", f"{len(starts)} commands start a server, in lines {lines}", None)
    return _take_apart(replace(evidence, notes=tuple(notes)), starts[0], folders)


def _find_all(text: str, source: str, notes: list[str]) -> Iterable[Start]:
    pieces = _pieces(text, source)
    if pieces is None:
        script = Script(text)
        yield from find_starts(script.commands())
        notes += script.notes
        return
    for piece in pieces:
        commands = [Command(piece.words, {})] if piece.words else []
        if piece.shell:
            known: dict[str, tuple[Word, ...] | None] = {
                name: (Word(value, piece.line),) for name, value in piece.settings.items()
            }
            script = Script(piece.shell, line=piece.line, variables=known)
            commands += script.commands()
            notes += script.notes
        found = list(find_starts(commands))
        bare = find_bare_arguments(tuple(word for command in commands for word in command.words)) if not found else None
        notes += piece.notes if found or bare else ()
        yield from found or ([bare] if bare else [])


def _pieces(text: str, source: str) -> tuple[Piece, ...] | None:
    """Choose the reader by the file's name, then by how it begins; None: a shell script or a command line."""
    suffix = Path(source).suffix.lower()
    if suffix in _READERS:
        return _READERS[suffix](text)
    if Path(source).name.lower().startswith(("dockerfile", "containerfile")):
        return read_dockerfile(text)
    if text.lstrip().startswith(("[", "{")) and not source.endswith(".sh"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return None
        return read_json(text)
    bare = find_bare_arguments(tuple(word for command in Script(text).commands() for word in command.words))
    return (Piece(bare.words),) if bare else None


def _take_apart(evidence: LaunchEvidence, start: Start, folders: tuple[Path, ...]) -> LaunchEvidence:
    if start.engine == "sglang":
        words, note = merge_config(start.words, folders)
        start = replace(start, words=words, notes=(*start.notes, note) if note else start.notes)
    arguments, strays = parse_arguments(start.engine, start.words)
    model, strays = _model_by_place(start, arguments, strays)
    speculation, broken = read_speculation(arguments) if start.engine == "vllm" else ({}, "")
    filled = replace(
        evidence,
        engine=start.engine,
        line=start.line,
        arguments=arguments,
        speculation=speculation,
        strays=strays,
        environment=start.environment,
        notes=(*evidence.notes, *start.notes),
    )
    target = model or filled.last("--model-path", "--model")
    draft = _draft_argument(filled)
    filled = replace(
        filled,
        target=_look(target, folders) if target else None,
        draft=_look(draft, folders) if draft else None,
    )
    return _with_problem(filled, "corrupt", broken, start.line) if broken else filled


def _look(argument: Argument, folders: tuple[Path, ...]) -> NamedModel:
    return look_at_model(argument, argument.values[0].text if argument.values else "", folders)


def _draft_argument(evidence: LaunchEvidence) -> Argument | None:
    if evidence.engine == "sglang":
        return evidence.last("--speculative-draft-model-path")
    named = evidence.speculation.get("model")
    holders = [item for item in evidence.arguments if item.name in {"--speculative-config", "--spec-model"}]
    if not isinstance(named, str) or not holders:
        return None
    holder = holders[-1]
    return Argument(holder.written, holder.name, (Word(named, holder.line, holder.open),), holder.line, "model")


def _model_by_place(
    start: Start, arguments: tuple[Argument, ...], strays: tuple[Word, ...]
) -> tuple[Argument | None, tuple[Word, ...]]:
    """Take ``serve MODEL``: the word right behind, before any flag."""
    first = start.words[0] if start.words else None
    if first is not None and strays and strays[0] is first:
        return Argument("MODEL", "--model-path", (first,), first.line), strays[1:]
    del arguments
    return None, strays


def _with_problem(evidence: LaunchEvidence, kind: str, reason: str, line: int | None) -> LaunchEvidence:
    problem = Problem(kind, reason, _REMEDIES.get(kind, _REMEDY), Where(file=evidence.source or None, line=line))
    return replace(evidence, problems=(*evidence.problems, problem))
