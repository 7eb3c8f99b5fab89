"""Planes and dtype that a contract declares for one format are what a dataset of that format is judged by."""

from __future__ import annotations

import dataclasses
import json

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from support.judging import dataset_cases, placement_cases
from support.judging.cases import Case
from support.snapshots import tell_findings

CASES = [
    case
    for case in (*dataset_cases.CASES, *placement_cases.DATASET_CASES)
    if isinstance(case.evidence, DatasetEvidence) and case.evidence.format
]


def declare_for_format(contract: Contract, dataset_format: str) -> Contract:
    """Give the contract that declares its planes for one format, and another single plane in float32 for all others."""
    document = json.loads(contract.model_dump_json(by_alias=True))
    stored = document["storage"]["planes"]
    other = next(plane["name"] for plane in document["planes"] if plane["name"] not in stored)
    document["storage"] = {
        "planes": [other],
        "dtype": "float32",
        "formats": {dataset_format: stored},
        "dtypes": {dataset_format: contract.stored_dtype(dataset_format)},
    }
    return Contract.model_validate_json(json.dumps(document))


def stamp_anew(evidence: DatasetEvidence, contract: Contract) -> DatasetEvidence:
    """Give the evidence with the digest in its stamp, if it has one, of another document."""
    stamp = evidence.declared.get("stamp")
    if not isinstance(stamp, dict) or "contract_digest" not in stamp:
        return evidence
    declared = {**evidence.declared, "stamp": stamp | {"contract_digest": contract.digest}}
    return dataclasses.replace(evidence, declared=declared)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_format_is_judged_by_what_is_declared_for_it(case: Case) -> None:
    assert isinstance(case.evidence, DatasetEvidence)
    assert case.evidence.format is not None
    contract = declare_for_format(case.contract, case.evidence.format)
    item = clause(case.clause)
    for_all = judge_clause(item, case.contract, stamp_anew(case.evidence, case.contract))
    for_format = judge_clause(item, contract, stamp_anew(case.evidence, contract))
    assert tell_findings(for_format) == tell_findings(for_all)
