"""What must be told apart is told: every fixture names faults of the catalogue and tests that are there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from eagle3_contracts.faults import list_faults
from support.museum.fixtures import FIXTURES

TESTS = Path(__file__).resolve().parents[1]


@cache
def list_tests(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_none_is_left_away() -> None:
    assert list(FIXTURES) == [f"F{number:02}" for number in range(1, 20)]


@pytest.mark.parametrize("name", FIXTURES)
def test_a_fixture_is_shown_by_what_it_names(name: str) -> None:
    fixture = FIXTURES[name]
    assert fixture.faults or fixture.tests
    assert set(fixture.faults) <= {fault.id for fault in list_faults()}
    for named in fixture.tests:
        path, _, test = named.partition("::")
        assert test in list_tests(TESTS / path), named
