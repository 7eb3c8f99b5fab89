"""Parsing what a server answers: how deep it may be nested."""

from __future__ import annotations

import pytest

from eagle3_contracts.subjects.servers.failing import ServerProblemError
from eagle3_contracts.subjects.servers.json_answers import parse_json

DEEPEST = 64


def nest(levels: int) -> bytes:
    """Nest lists and tables in turn, beside numbers."""
    opened = "".join(['[1,"[",', '{"a":1,"b":'][at % 2] for at in range(levels))
    return (opened + "2" + "".join("]}"[at % 2] for at in reversed(range(levels)))).encode()


@pytest.mark.parametrize("levels", [0, 1, 2, DEEPEST])
def test_an_answer_may_be_nested_so_deep(levels: int) -> None:
    assert parse_json(nest(levels), "here") is not None


@pytest.mark.parametrize("levels", [DEEPEST + 1, DEEPEST + 2, 200])
def test_a_deeper_one_is_malformed(levels: int) -> None:
    with pytest.raises(ServerProblemError, match=f"nested more than {DEEPEST} deep"):
        parse_json(nest(levels), "here")
