"""Commands of containers and services: Dockerfile, JSON, the lists of compose and Kubernetes YAML, systemd units.

YAML is read for ``command``, ``args`` and ``entrypoint`` alone, by its lines, without a YAML parser: lists in blocks
or in brackets, strings, and literal blocks. Anchors, aliases and templates stay unread, and are said to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eagle3_contracts.evidence import Word

_KUBERNETES = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_SETTLED = re.compile(r"\$\(([A-Za-z_]\w*)\)|\$\{([A-Za-z_]\w*):?-([^}]*)\}")
_ENV_ITEM = re.compile(r"-\s+name:\s*[\"']?(\w+)[\"']?\s*\n\s+value:[ \t]*(\S.*)")
_KEY = re.compile(r"(\s*)(?:-\s+)?(command|args|entrypoint)\s*:(?:\s+(.*))?$")
_ITEM = re.compile(r"(\s*)-\s+(.*)$")
_QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""")
_RANK = {"entrypoint": 0, "command": 1, "args": 2, "cmd": 2}


@dataclass(frozen=True, slots=True)
class Piece:
    """What starts a container: words as they are, or text for a shell, with the line it begins in.

    ``settings``: variables that the image sets. ``notes``: what was taken for granted.
    """

    words: tuple[Word, ...] = ()
    shell: str = ""
    line: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class UnreadError(Exception):
    """A form that is not read here: what it is, and the line."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason)


def read_json(text: str) -> tuple[Piece, ...]:
    """Give the command that a list of words is, or that stands under ``command``, ``args``, ``Cmd``, ``Entrypoint``."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadError(f"this is no JSON: {error}", getattr(error, "lineno", 1)) from None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return (Piece(tuple(_word(item, None) for item in value)),)
    return tuple(_nested(value))


def _nested(value: Any, depth: int = 0) -> Iterator[Piece]:
    if depth > 40:
        return
    if isinstance(value, dict):
        lowered = {str(key).lower(): item for key, item in value.items()}
        parts = [_as_words(lowered.get(key)) for key in ("entrypoint", "command", "args", "cmd")]
        if any(parts):
            yield Piece(tuple(word for part in parts for word in part))
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _nested(item, depth + 1)


def _as_words(value: Any) -> list[Word]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_word(item, None) for item in value]
    return []


def _word(text: str, line: int | None) -> Word:
    """Make a word of a list; ``$(NAME)`` and ``${NAME}`` are put in by whoever starts the container."""
    return Word(text, line, tuple(f"${one or other}" for one, other in _KUBERNETES.findall(text)))


def read_dockerfile(text: str) -> tuple[Piece, ...]:
    """Give ENTRYPOINT and CMD, the last of each: joined where both are lists."""
    last: dict[str, Piece] = {}
    settings: dict[str, str] = {}
    for line, instruction in _instructions(text):
        head, _, rest = instruction.partition(" ")
        if head.upper() == "FROM":
            last.clear()
            settings = {}
        if head.upper() == "ENV":
            settings |= _read_env(rest)
        if head.upper() not in {"ENTRYPOINT", "CMD"}:
            continue
        rest = rest.strip()
        try:
            listed = json.loads(re.sub(r"\\\s*\n", "\n", rest)) if rest.startswith("[") else None
        except ValueError:
            listed = None
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            last[head.upper()] = Piece(tuple(Word(item, line) for item in listed), line=line)
        else:
            last[head.upper()] = Piece(shell=rest, line=line, settings=settings)
    first, then = last.get("ENTRYPOINT"), last.get("CMD")
    if first and then and first.words and then.words:
        return (Piece((*first.words, *then.words), line=first.line),)
    return tuple(piece for piece in (first or then,) if piece)


def _read_env(text: str) -> dict[str, str]:
    """Read ``ENV A=1 B="2"`` and the old ``ENV A 1``; what refers to other variables is left to the run."""
    pairs = re.findall(r'([A-Za-z_]\w*)=("[^"]*"|\S*)', text)
    if not pairs:
        name, _, value = text.strip().partition(" ")
        pairs = [(name, value)]
    return {name: value.strip().strip('"') for name, value in pairs if name and "$" not in value}


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """Give instructions with their lines; a continued one keeps its line breaks, as the shell counts them."""
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            # Between the lines of a continued instruction they are left out, and the instruction goes on.
            parts += ["\\"] if parts else []
            continue
        begun = begun if parts else number
        parts.append(line)
        if line.rstrip().endswith("\\"):
            continue
        yield begun, "\n".join(parts).strip()
        parts = []
    if parts:
        yield begun, "\n".join(parts).strip()


def read_unit(text: str) -> tuple[Piece, ...]:
    """Give what ExecStart of a systemd unit runs."""
    pieces = []
    for line, instruction in _instructions(text):
        key, _, value = instruction.partition("=")
        if key.strip() == "ExecStart" and value.strip():
            pieces.append(Piece(shell=value.lstrip().lstrip("@-:+!"), line=line))
    return tuple(pieces)


def read_yaml(text: str) -> tuple[Piece, ...]:
    """Give what each container of a compose file or a manifest runs; raises ``UnreadError`` for other YAML."""
    lines = text.splitlines()
    found: list[tuple[int, int, str, Piece]] = []
    for number, line in enumerate(lines):
        match = _KEY.match(line)
        if match:
            indent = len(line) - len(line.lstrip(" -"))
            found.append((number, indent, match.group(2), _yaml_value(lines, number, indent, match.group(3) or "")))
    pieces: list[Piece] = []
    while found:
        number, indent, _, _ = found[0]
        group = [item for item in found if item[1] == indent and not _ends(lines, number, item[0], indent)]
        found = [item for item in found if item not in group]
        pieces.append(_join([(key, piece) for _, _, key, piece in group]))
    settings = _read_settings(text)
    return tuple(_settle(piece, settings) for piece in pieces)


def _read_settings(text: str) -> dict[str, str]:
    """Give the variables that a manifest sets by ``name`` and ``value``, where it gives each one value alone."""
    found: dict[str, set[str]] = {}
    for name, value in _ENV_ITEM.findall(text):
        found.setdefault(name, set()).add(_scalar(_without_comment(value)))
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _settle(piece: Piece, settings: Mapping[str, str]) -> Piece:
    """Put in what the manifest itself sets (``$(NAME)``) and defaults (``${NAME:-VALUE}``), and note both."""
    notes: dict[str, None] = {}

    def put_in(match: re.Match[str]) -> str:
        name, default = match.group(1) or match.group(2), match.group(3)
        if default is not None:
            notes[f"${name} is taken at its default, {default!r}; the environment may say otherwise"] = None
            return default
        if name not in settings:
            return match.group()
        notes[f"$({name}) is {settings[name]!r}, as the file sets it"] = None
        return settings[name]

    words = tuple(
        _word(text, word.line) if (text := _SETTLED.sub(put_in, word.text)) != word.text else word
        for word in piece.words
    )
    return replace(piece, words=words, notes=(*piece.notes, *notes))


def _ends(lines: list[str], start: int, stop: int, indent: int) -> bool:
    """Tell whether another container begins between two lines of one indentation."""
    between = [line for line in lines[start + 1 : stop + 1] if line.strip() and not line.lstrip().startswith("#")]
    for line in between:
        begins, holds = len(line) - len(line.lstrip()), len(line) - len(line.lstrip(" -"))
        is_item = line.lstrip().startswith("- ")
        if begins < indent - 2 or (begins < indent and not is_item) or (begins < indent and holds == indent):
            return True
    return False


def _join(parts: list[tuple[str, Piece]]) -> Piece:
    ordered = [piece for _, piece in sorted(parts, key=lambda part: _RANK[part[0]])]
    if len(ordered) == 1:
        return ordered[0]
    words = tuple(word for piece in ordered for word in piece.words)
    return Piece(words, " ".join(piece.shell for piece in ordered), ordered[0].line)


def _yaml_value(lines: list[str], number: int, indent: int, inline: str) -> Piece:
    inline = _without_comment(inline)
    if inline.startswith("["):
        return _flow(lines, number, inline)
    if inline[:1] in {"|", ">"}:
        body, _ = _block(lines, number + 1, indent, folded=inline.startswith(">"))
        return Piece(shell=body, line=number + 2)
    if inline[:1] in {"*", "&", "{"} or "{{" in inline:
        raise UnreadError(f"YAML of this form is not read here: {inline[:40]}", number + 1)
    if inline:
        return Piece(shell=_scalar(inline), line=number + 1)
    return Piece(tuple(_items(lines, number + 1, indent)), line=number + 1)


def _flow(lines: list[str], number: int, inline: str) -> Piece:
    """Read a list in brackets, over several lines if need be."""
    text, row = inline, number
    while not text.rstrip().endswith("]") and row + 1 < len(lines) and row - number < 200:
        row += 1
        text += " " + lines[row].strip()
    inner = text.strip().removeprefix("[").removesuffix("]")
    parts = re.findall(r'\s*"(?:[^"\\]|\\.)*"\s*|\s*\'(?:[^\']|\'\')*\'\s*|[^,]+', inner)
    return Piece(tuple(_word(_scalar(part), number + 1) for part in parts if part.strip()), line=number + 1)


def _items(lines: list[str], start: int, indent: int) -> Iterator[Word]:
    row = start
    while row < len(lines):
        line = lines[row]
        if not line.strip() or line.lstrip().startswith("#"):
            row += 1
            continue
        match = _ITEM.match(line)
        if not match or len(match.group(1)) < indent:
            return
        value = match.group(2).strip()
        if value[:1] in {"*", "&"} or "{{" in value:
            raise UnreadError(f"YAML of this form is not read here: {value[:40]}", row + 1)
        if re.fullmatch(r"[|>][+-]?\d?", value):
            body, after = _block(lines, row + 1, len(match.group(1)), folded=value.startswith(">"))
            yield Word(body, row + 2)
            row = after
            continue
        yield _word(_scalar(_without_comment(value)), row + 1)
        row += 1


def _block(lines: list[str], start: int, indent: int, *, folded: bool) -> tuple[str, int]:
    """Give a literal or folded block, its indentation taken off, and the line after it."""
    row = start
    while row < len(lines) and (not lines[row].strip() or len(lines[row]) - len(lines[row].lstrip()) > indent):
        row += 1
    joined = " \\\n" if folded else "\n"
    return joined.join(line.strip() for line in lines[start:row]).rstrip("\\\n "), row


def _without_comment(text: str) -> str:
    """Take a comment off the end of a value; within quotes a # is none."""
    quoted = _QUOTED.match(text)
    return quoted.group(1) if quoted else re.sub(r"\s+#.*$", "", text).strip()


def _scalar(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    if text.startswith("'"):
        return text.removeprefix("'").removesuffix("'").replace("''", "'")
    return text
