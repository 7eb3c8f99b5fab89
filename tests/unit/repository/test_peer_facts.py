"""The page of facts about real tools names tests, and every one of them is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PEERS = Path(__file__).resolve().parents[2] / "peers"
NAMED = re.findall(r"`(\w+/test_\w+\.py)::(test_\w+)`", (PEERS / "README.md").read_text(encoding="utf-8"))


@cache
def list_tests(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(path: str, name: str) -> None:
    assert name in list_tests(PEERS / path)


def test_every_row_of_the_page_names_a_test() -> None:
    rows = [line for line in (PEERS / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    bare = [row for row in rows if "::test_" not in row and not row.startswith("| fact")]
    assert len(rows) > 30
    assert bare == []
