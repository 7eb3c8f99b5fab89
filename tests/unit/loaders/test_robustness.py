"""Loader clauses judge any evidence under any contract; what they say of it is in tests/unit/clauses."""

from __future__ import annotations

from dataclasses import replace

from eagle3_contracts.registry import clauses_of
from support.judging.documents import toy_contract
from support.judging.loader_cases import CASES

CLAUSES = clauses_of("loader")
CONTRACTS = (toy_contract(), toy_contract("embed", "low", "mid", "high"), toy_contract("normed"))


def test_every_clause_judges_every_evidence_under_every_contract() -> None:
    for clause in CLAUSES:
        for case in CASES:
            for contract in CONTRACTS:
                assert replace(case, clause=clause.id, contract=contract).judge()
