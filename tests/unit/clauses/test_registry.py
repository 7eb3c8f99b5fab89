"""The clauses as data: ids stay, each has its check, and sentences and sources say enough."""

from __future__ import annotations

import importlib
import re
from itertools import permutations
from pathlib import Path

import pytest

from eagle3_contracts.registry import CLAUSES, Clause, clauses_of

PERMANENT = Path(__file__).with_name("permanent_ids.txt").read_text(encoding="utf-8").split()
JUDGED = [*clauses_of("capture"), *clauses_of("dataset"), *clauses_of("loader"), *clauses_of("golden")]


def test_no_id_is_ever_removed() -> None:
    assert set(PERMANENT) <= {clause.id for clause in CLAUSES}


def test_a_new_id_is_written_down() -> None:
    assert {clause.id for clause in JUDGED} <= set(PERMANENT)


def test_no_id_is_a_prefix_of_another() -> None:
    ids = [clause.id for clause in CLAUSES]
    assert len(ids) == len(set(ids))
    assert [pair for pair in permutations(ids, 2) if pair[1].startswith(pair[0])] == []


@pytest.mark.parametrize("clause", JUDGED, ids=lambda clause: clause.id)
def test_every_clause_has_its_check(clause: Clause) -> None:
    module = importlib.import_module(f"eagle3_contracts.clauses.{clause.stage}")
    check = getattr(module, clause.check_name)
    assert check.__doc__
    assert check.__name__ in module.__all__


@pytest.mark.parametrize("stage", ["capture", "dataset", "loader", "golden"])
def test_every_check_has_its_clause(stage: str) -> None:
    module = importlib.import_module(f"eagle3_contracts.clauses.{stage}")
    assert sorted(module.__all__) == sorted(clause.check_name for clause in clauses_of(stage))


@pytest.mark.parametrize("clause", JUDGED, ids=lambda clause: clause.id)
def test_a_clause_is_one_sentence_with_a_source(clause: Clause) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", clause.id)
    assert clause.sentence.endswith(".")
    assert clause.sentence.count(". ") == 0
    assert clause.why.endswith(".")
