from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.testing.expectations import Expectation, read_expectations
from eagle3_contracts.testing.settings import SettingError

HEAD = "[tool.eagle3-contracts.expected]\n"


def read(folder: Path, text: str) -> tuple[Expectation, ...]:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return read_expectations(folder)


def test_a_project_without_the_table_or_the_file_expects_nothing(tmp_path: Path) -> None:
    assert read_expectations(tmp_path) == ()
    assert read(tmp_path, "[project]\nname = 'x'\n") == ()


def test_an_entry_names_clause_reason_link_and_perhaps_a_subject(tmp_path: Path) -> None:
    entries = '"dataset.rows" = { reason = "old dump", link = "https://x" }\n"dataset.dtype" = [\n'
    entries += '  { reason = "r", link = "l", subject = "a" }, { reason = "s", link = "m", subject = "b" },\n]\n'
    everywhere, first, second = read(tmp_path, HEAD + entries)
    assert everywhere == Expectation("dataset.rows", "old dump", "https://x")
    assert everywhere.covers("dataset.rows", "any")
    assert not everywhere.covers("dataset.dtype", "any")
    assert first.covers("dataset.dtype", "a")
    assert not first.covers("dataset.dtype", "b")
    assert second.subject == "b"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('"dataset.no-such" = { reason = "r", link = "l" }', "no such clause"),
        ('"dataset.rows" = { reason = "r" }', "lacks link"),
        ('"dataset.rows" = { link = "l" }', "lacks reason"),
        ('"dataset.rows" = { reason = " ", link = "l" }', "all of them text that says something"),
        ('"dataset.rows" = { reason = "r", link = 3 }', "all of them text that says something"),
        ('"dataset.rows" = "because"', "all of them text that says something"),
        ('"dataset.rows" = { reason = "r", link = "l", until = "May" }', "has no use for until"),
        ("dataset.rows = { reason = 'r', link = 'l' }", "no such clause"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(tmp_path: Path, entry: str, reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        read(tmp_path, HEAD + entry)


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        read(tmp_path, "[tool")
