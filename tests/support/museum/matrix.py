"""The kill matrix: for every fault, what every clause of its stage and of the document says.

``tests/faults/matrix.json`` holds it, one line a fault; ``tests/faults/MATRIX.md`` shows it. Both are compared with
what a run finds, and rewritten only by ``EAGLE3_CONTRACTS_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from eagle3_contracts.faults import Fault, list_faults
from eagle3_contracts.findings import Verdict
from support.museum.exhibits import Verdicts, judging_clauses
from support.museum.page import write_page
from support.snapshots import VARIABLE

FOLDER = Path(__file__).resolve().parents[2] / "faults"
MATRIX, PAGE = FOLDER / "matrix.json", FOLDER / "MATRIX.md"

Row = dict[str, Any]


def describe_row(fault: Fault, verdicts: Verdicts) -> Row:
    """Give a fault's row: what it is, and the clauses by verdict. ``passed`` are counted, since they are the rest."""
    return {
        "kind": str(fault.kind),
        "stage": fault.stage,
        "mechanism": fault.mechanism,
        "source": fault.source,
        "clause": fault.clause,
        "companions": list(fault.companions),
        **{str(verdict): list_clauses(fault, verdicts, verdict) for verdict in Verdict if verdict != Verdict.PASSED},
        "passed": sum(verdict == Verdict.PASSED for verdict in verdicts.values()),
    }


def list_clauses(fault: Fault, verdicts: Mapping[str, Verdict], verdict: Verdict) -> list[str]:
    """Name the clauses that came to a verdict, in the order of the registry."""
    return [item.id for item in judging_clauses(fault.stage) if verdicts.get(item.id) == verdict]


def read_matrix() -> dict[str, Row]:
    """Give the stored rows by fault id, none if there is no table yet."""
    if not MATRIX.is_file():
        return {}
    rows: dict[str, Row] = json.loads(MATRIX.read_text(encoding="utf-8"))["faults"]
    return rows


def compare_row(fault: Fault, row: Row) -> None:
    """Fail if the stored row of a fault is another; rewrite table and page if the variable says so."""
    if os.environ.get(VARIABLE) == "1":
        assert os.environ.get("CI") != "true", f"{VARIABLE} is set in CI, where nothing may be rewritten"
        with FileLock(Path(tempfile.gettempdir()) / "eagle3-contracts-matrix.lock"):
            write_matrix(read_matrix() | {fault.id: row})
    stored = read_matrix().get(fault.id)
    assert stored is not None, f"the matrix has no row {fault.id}; run with {VARIABLE}=1 and read what it writes"
    assert row == stored, f"if the new row is meant, run with {VARIABLE}=1"


def write_matrix(rows: Mapping[str, Row]) -> None:
    """Write table and page, in the order of the catalogue; rows of faults that are no more are dropped."""
    kept = {fault.id: rows[fault.id] for fault in list_faults() if fault.id in rows}
    MATRIX.write_text(dump_matrix(kept), encoding="utf-8")
    PAGE.write_text(write_page(kept), encoding="utf-8")


def dump_matrix(rows: Mapping[str, Row]) -> str:
    """Write the table out: what judges each stage, then one line for each fault."""
    stages = dict.fromkeys(fault.stage for fault in list_faults())
    judges = [f"  {json.dumps(stage)}: {json.dumps([c.id for c in judging_clauses(stage)])}" for stage in stages]
    lines = [f"  {json.dumps(fault_id)}: {json.dumps(row)}" for fault_id, row in rows.items()]
    return '{"clauses": {\n' + ",\n".join(judges) + '\n},\n"faults": {\n' + ",\n".join(lines) + "\n}}\n"
