"""Shell scripts, read and never run: words with their lines, variables as far as the script itself gives them.

What only the run decides - variables of the environment, output of commands, what is set under a condition - stays
open in the word and is named there. A default (``${TOPK:-1}``) is taken, and noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from eagle3_contracts.evidence import Word
from eagle3_contracts.subjects.launches.words import Command, Draft, ShellError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_OPENING = frozenset({"if", "while", "until", "for", "case", "select"})
_CLOSING = frozenset({"fi", "done", "esac"})
_BETWEEN = frozenset({"then", "else", "elif", "do", "{", "}", "!", "time"})
_SETTING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_MOST_LETTERS = 8 << 20
"""What variables put into a script, all together, before it counts as one that means harm."""
_QUOTED_ESCAPES = '"\\$`\n'
_GIVES_ARGUMENTS = re.compile(r"^\s*function\s|^\s*[\w-]+\s*\(\s*\)|\bset\s+--", re.MULTILINE)
"""What gives ``$@`` other words than those that the script is called with."""
_OWN_ARGUMENTS = "the script's own arguments ($@) are taken as none; what it is called with may add flags"


@dataclass(slots=True)
class Script:
    """A script being read. ``variables``: name to words; None: set, but to what only the run decides."""

    text: str
    line: int = 1
    place: int = 0
    variables: dict[str, tuple[Word, ...] | None] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    depth: int = 0
    heredocs: list[str] = field(default_factory=list)
    put_in: int = 0

    def commands(self) -> Iterator[Command]:
        """Give every simple command in order; raises ``ShellError``."""
        while self.place < len(self.text):
            words = self._words()
            found = self._settle(words)
            if found is not None:
                yield found

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.place + ahead : self.place + ahead + 1]

    def _take(self) -> str:
        letter = self._peek()
        self.place += 1
        self.line += letter == "\n"
        return letter

    def _words(self, closing: str = "") -> list[Word]:
        """Read words to the end of a command, or to what closes an array."""
        words: list[Word] = []
        draft = Draft()
        while self.place < len(self.text):
            letter = self._peek()
            if letter == closing and closing:
                self._take()
                break
            if letter == "#" and not draft.begun:
                self._skip_to("\n")
            elif letter in " \t\r" or (letter == "\n" and closing):
                self._take()
                draft = self._finish(draft, words)
            elif letter == "(" and draft.begun and _ASSIGNMENT.fullmatch(draft.text):
                self._take()
                self._set_array(draft.text, self._words(")"))
                draft = Draft()
            elif letter in "\n;&|()" and not closing:
                self._end_command(letter)
                break
            elif letter in "<>":
                draft = self._redirect(draft, words)
            else:
                self._add(draft, words)
        self._finish(draft, words)
        return words

    def _end_command(self, letter: str) -> None:
        self._take()
        if letter == "\n" and self.heredocs:
            for mark in self.heredocs:
                self._skip_heredoc(mark)
            self.heredocs.clear()

    def _skip_heredoc(self, mark: str) -> None:
        while self.place < len(self.text):
            start = self.place
            self._skip_to("\n")
            line = self.text[start : self.place]
            self._take()
            if line.strip() == mark:
                return

    def _skip_to(self, letter: str) -> None:
        while self.place < len(self.text) and self._peek() != letter:
            self._take()

    def _redirect(self, draft: Draft, words: list[Word]) -> Draft:
        """Pass over a redirection and its file; remember the mark of a here-document."""
        if not draft.text.isdigit():
            self._finish(draft, words)
        operator = ""
        while self._peek() and self._peek() in "<>&-":
            operator += self._take()
        while self._peek() and self._peek() in " \t":
            self._take()
        goal = Draft(line=self.line)
        while self._peek() and self._peek() not in " \t\r\n;&|()<>":
            self._add(goal, [])
        if operator in {"<<", "<<-"}:
            self.heredocs.append(goal.text)
        return Draft()

    def _finish(self, draft: Draft, words: list[Word]) -> Draft:
        if draft.begun:
            words.append(Word(draft.text, draft.line, tuple(draft.open)))
        return Draft()

    def _begin(self, draft: Draft) -> None:
        if not draft.begun:
            draft.begun, draft.line = True, self.line

    def _add(self, draft: Draft, words: list[Word]) -> None:
        """Take one letter, quotation or expansion into a word."""
        letter = self._take()
        if letter == "\\":
            following = self._take()
            if following in {"\n", "\r"}:
                if following == "\r" and self._peek() == "\n":
                    self._take()
                return
            self._begin(draft)
            draft.text += following
        elif letter == "'":
            self._begin(draft)
            draft.text += self._until("'")
        elif letter == '"':
            self._begin(draft)
            self._quotation(draft, words)
        elif letter == "$":
            self._begin(draft)
            self._expand(draft, words, quoted=False)
        elif letter == "`":
            self._begin(draft)
            draft.open.append(f"`{self._until('`')}`")
        else:
            self._begin(draft)
            draft.text += letter

    def _until(self, mark: str) -> str:
        start, line = self.place, self.line
        self._skip_to(mark)
        if self.place >= len(self.text):
            raise ShellError(f"a {mark} is opened and never closed", line)
        self._take()
        return self.text[start : self.place - 1]

    def _quotation(self, draft: Draft, words: list[Word]) -> None:
        line = self.line
        while self.place < len(self.text):
            letter = self._take()
            if letter == '"':
                return
            if letter == "\\" and self._peek() and self._peek() in _QUOTED_ESCAPES:
                following = self._take()
                draft.text += "" if following == "\n" else following
            elif letter == "$":
                self._expand(draft, words, quoted=True)
            elif letter == "`":
                draft.open.append(f"`{self._until('`')}`")
            else:
                draft.text += letter
        raise ShellError('a " is opened and never closed', line)

    def _expand(self, draft: Draft, words: list[Word], *, quoted: bool) -> None:
        """Put in what stands for ``$NAME``, ``${NAME}``, ``$(...)`` and their like."""
        if self._peek() == "(":
            draft.open.append(f"$({self._parenthesis()})")
            return
        if self._peek() == "{":
            self._take()
            self._substitute(draft, words, self._until("}"), quoted=quoted)
            return
        match = _NAME.match(self.text, self.place)
        name = match.group() if match else self._peek() if self._peek() and self._peek() in "@*#?$!0123456789-" else ""
        if not name:
            draft.text += "$"
            return
        self.place += len(name)
        self._substitute(draft, words, name, quoted=quoted)

    def _parenthesis(self) -> str:
        start, line, depth = self.place + 1, self.line, 0
        while self.place < len(self.text):
            letter = self._take()
            depth += (letter == "(") - (letter == ")")
            if not depth:
                return self.text[start : self.place - 1]
        raise ShellError("a ( is opened and never closed", line)

    def _substitute(self, draft: Draft, words: list[Word], inner: str, *, quoted: bool) -> None:
        match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)(\[[@*]\])?(?::?-(.*))?", inner, re.DOTALL)
        name = match.group(1) if match else inner
        value = self.variables.get(name) if match else None
        if value is None and match and match.group(3) is not None and name not in self.variables:
            note = f"${name} is taken at its default, {match.group(3)!r}; the environment may say otherwise"
            self.notes += [note] if note not in self.notes else []
            value = (Word(match.group(3), draft.line, ("$",) if "$" in match.group(3) else ()),)
        if name in {"@", "*"} and not _GIVES_ARGUMENTS.search(self.text):
            self.notes += [_OWN_ARGUMENTS] if _OWN_ARGUMENTS not in self.notes else []
            value = ()
        if value is None:
            draft.open.append(f"${name}")
            draft.text += f"${{{inner}}}"
            return
        parts = list(value) if match and match.group(2) else list(value[:1])
        if not quoted:
            parts = [Word(piece, part.line, part.open) for part in parts for piece in (part.text.split() or [""])]
        self._put(draft, words, parts)

    def _put(self, draft: Draft, words: list[Word], parts: list[Word]) -> None:
        """Join the first part to what stands before it and the last to what follows; the others are words."""
        self.put_in += sum(len(part.text) + 1 for part in parts)
        if self.put_in > _MOST_LETTERS:
            raise ShellError(f"its variables come to more than {_MOST_LETTERS:,} letters", self.line)
        for place, part in enumerate(parts):
            if place:
                words.append(Word(draft.text, draft.line, tuple(draft.open)))
                draft.text, draft.open = "", []
            draft.text += part.text
            draft.open += part.open
        draft.begun = bool(parts) or draft.begun
        if not "".join(part.text for part in parts) and not draft.text and not draft.open:
            draft.begun = False

    def _set_array(self, head: str, words: list[Word]) -> None:
        match = _ASSIGNMENT.fullmatch(head)
        if match is not None:
            self._assign(match.group(1), tuple(words), adds=bool(match.group(2)))

    def _assign(self, name: str, value: tuple[Word, ...], *, adds: bool = False) -> None:
        if self.depth:
            self.variables[name] = None
            return
        before = (self.variables.get(name) or ()) if adds else ()
        self.variables[name] = (*before, *value)

    def _settle(self, words: list[Word]) -> Command | None:
        """Take assignments and the words of conditions away; give the command that is left, if one is."""
        while words and words[0].text in _BETWEEN | _OPENING | _CLOSING:
            self.depth += (words[0].text in _OPENING) - (words[0].text in _CLOSING)
            self.depth = max(self.depth, 0)
            words = words[1:]
        exports = bool(words) and words[0].text in _SETTING
        rest = [word for word in words[1:] if not word.text.startswith("-")] if exports else words
        own: dict[str, str] = {}
        while rest and (match := _ASSIGNMENT.match(rest[0].text)):
            value = Word(rest[0].text[match.end() :], rest[0].line, rest[0].open)
            own[match.group(1)] = value.text
            if exports or len(rest) == 1 or all(_ASSIGNMENT.match(word.text) for word in rest):
                self._assign(match.group(1), (value,))
                self.exported |= {match.group(1): value.text} if exports else {}
            rest = rest[1:]
        if exports or not rest:
            return None
        return Command(tuple(rest), {**self.exported, **own})
