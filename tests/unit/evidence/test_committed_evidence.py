"""The committed evidence of a run on a GPU: whole, clean, and of the contract that the catalog holds today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.reports.evidence_file import list_complaints, read_evidence

ROOT = Path(__file__).resolve().parents[3]
COMMITTED = ROOT / "tests" / "live" / "gpu" / "evidence.json"


def test_it_shows_what_a_run_on_a_gpu_must() -> None:
    if not COMMITTED.exists():
        pytest.skip(
            "tests/live/gpu/evidence.json is not committed: `tox -e gpu`, which writes it, was not run yet on a GPU"
        )
    digests = json.loads((ROOT / "contracts" / "catalog" / "digests.json").read_text(encoding="utf-8"))
    assert list_complaints(read_evidence(COMMITTED), CONTRACT, digests[CONTRACT.replace("@", "/")]["digest"]) == []
