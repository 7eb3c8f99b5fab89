"""Scripts are read as a shell reads them: words, lines, and variables as far as the script gives them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.subjects.launches.shell import Script
from eagle3_contracts.subjects.launches.words import Command, ShellError


def commands(text: str) -> list[Command]:
    return list(Script(text).commands())


def words(text: str) -> list[str]:
    (command,) = commands(text)
    return [word.text for word in command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run a b", ["run", "a", "b"]),
        ("run 'a b' \"c d\" e\\ f", ["run", "a b", "c d", "e f"]),
        ("run a\\\nb", ["run", "ab"]),
        ("run a \\\n  b # and this is not read", ["run", "a", "b"]),
        ("run a#b", ["run", "a#b"]),
        ("run '$HOME' \\$HOME", ["run", "$HOME", "$HOME"]),
        ('run "a\\"b" "\\n"', ["run", 'a"b', "\\n"]),
        ("run a > log 2>&1 < in", ["run", "a"]),
        ("run ''", ["run", ""]),
        ("exec run a\r\n", ["exec", "run", "a"]),
        ("run --x='{\"a\": 1}'", ["run", '--x={"a": 1}']),
    ],
)
def test_words_are_those_of_a_shell(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.lists(st.text("ab \"'$\\#;&|<>(){}=\n*-", max_size=6), min_size=1, max_size=4))
def test_what_is_quoted_comes_back_as_it_was(values: list[str]) -> None:
    assert words("run " + " ".join(shlex.quote(value) for value in values)) == ["run", *values]


@given(st.text("ab \"'$\\#;&|<>(){}=`\n@*-!", max_size=60))
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    lines = range(1, text.count("\n") + 2)
    try:
        found = commands(text)
    except ShellError as error:
        refused = error.line
        found = []
    else:
        refused = 1
    assert refused in lines
    assert all(word.line in lines for item in found for word in item.words)


def test_every_word_knows_its_line() -> None:
    (command,) = commands("# one\nrun a \\\n  'b\nc' \\\n  d\n")
    assert [(word.text, word.line) for word in command.words] == [("run", 2), ("a", 2), ("b\nc", 3), ("d", 5)]


def test_commands_end_where_a_shell_ends_them() -> None:
    assert [item.words[0].text for item in commands("a; b && c || d | e & f\ng")] == list("abcdefg")


def test_variables_of_the_script_are_put_in() -> None:
    text = 'N=3\nexport M=\'a b\'\nARGS=(--x 1 \\\n --y "$M")\nARGS+=(--z)\nrun $N $M "$M" "${ARGS[@]}" ${N}0'
    (command,) = commands(text)
    assert [word.text for word in command.words] == ["run", "3", "a", "b", "a b", "--x", "1", "--y", "a b", "--z", "30"]
    assert not any(word.open for word in command.words)
    assert command.environment == {"M": "a b"}


@pytest.mark.parametrize("text", ["run $N", 'run "$N"', "run ${N}", "run $(cat n)", "run `cat n`", "run $1"])
def test_what_the_script_does_not_give_stays_open(text: str) -> None:
    (command,) = commands(text)
    assert command.words[1].open


def test_what_a_condition_sets_stays_open() -> None:
    found = commands('N=1\nif [ -n "$DEBUG" ]; then N=2; fi\nrun $N')
    assert found[-1].words[1].open == ("$N",)


def test_a_default_is_taken_and_noted() -> None:
    script = Script("run ${N:-3}")
    (command,) = script.commands()
    assert [(word.text, word.open) for word in command.words] == [("run", ()), ("3", ())]
    assert "$N is taken at its default, '3'" in script.notes[0]


def test_variables_before_a_command_are_its_own() -> None:
    first, second = commands("A=1 run\nrun")
    assert (first.environment, second.environment) == ({"A": "1"}, {})


def test_a_here_document_is_no_command() -> None:
    assert [item.words[0].text for item in commands("cat <<EOF\npython 'x\nEOF\nrun")] == ["cat", "run"]


@pytest.mark.parametrize(
    ("text", "line"), [("run 'a", 1), ('a\nrun "b', 2), ("a\nb\nrun $(c", 3), ("run `d", 1), ("run ${e", 1)]
)
def test_what_is_never_closed_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ShellError, match="never closed") as error:
        commands(text)
    assert error.value.line == line
