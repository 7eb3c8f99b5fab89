"""Two faults at once: both are told, or the one that hides the other leaves it unchecked; neither passes unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import find_fault
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import STAGES
from support.museum.combining import can_be_combined, judge_pair
from support.museum.exhibits import Verdicts, sum_up, tell
from support.museum.pairs import CANCELLED, MASKED, PAIRS, Pair

PAIRS_AT_LEAST = 25


def judge(pair: Pair, contract: Contract, folder: Path) -> tuple[Verdicts, str]:
    findings = judge_pair(*map(find_fault, pair), contract, folder / "faulty")
    return sum_up(findings), tell(findings)


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_both_faults_are_told(pair: Pair, contract: Contract, tmp_path: Path) -> None:
    first, second = map(find_fault, pair)
    verdicts, told = judge(pair, contract, tmp_path)
    assert {verdicts[first.clause], verdicts[second.clause]} == {Verdict.FAILED}, told
    allowed = {first.clause, second.clause, *first.companions, *second.companions}
    surprising = {name for name, verdict in verdicts.items() if verdict == Verdict.FAILED} - allowed
    assert surprising == set(), told


@pytest.mark.parametrize("pair", MASKED, ids="+".join)
def test_a_hidden_fault_leaves_its_clause_unchecked(pair: Pair, contract: Contract, tmp_path: Path) -> None:
    first, second = map(find_fault, pair)
    verdicts, told = judge((second.id, first.id), contract, tmp_path)
    assert (verdicts[first.clause], verdicts[second.clause]) == (Verdict.FAILED, Verdict.ERRORED), told


@pytest.mark.parametrize("pair", CANCELLED, ids="+".join)
def test_what_takes_another_fault_away_is_told_itself(pair: Pair, contract: Contract, tmp_path: Path) -> None:
    verdicts, told = judge(pair, contract, tmp_path)
    of_both = [verdicts[find_fault(name).clause] for name in pair]
    assert sorted(of_both) == [Verdict.FAILED, Verdict.PASSED], told


def test_pairs_are_of_every_stage_and_all_can_be_combined() -> None:
    assert len(set(map(frozenset, PAIRS))) == len(PAIRS) >= PAIRS_AT_LEAST
    assert {find_fault(first).stage for first, _ in PAIRS} == {"contract", *STAGES}
    for first, second in (*PAIRS, *MASKED, *CANCELLED):
        assert can_be_combined(find_fault(first), find_fault(second)), (first, second)
