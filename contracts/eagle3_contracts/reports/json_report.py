"""Findings as JSON, and back.

Standard library only. Numbers that are not finite have no JSON, so they are null there; the sentence in
``observed`` still says them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.findings import Finding, Level, Rung, Verdict, Where
from eagle3_contracts.reports.writing import write_text

if TYPE_CHECKING:
    from eagle3_contracts.run import Report


def encode_finding(finding: Finding) -> dict[str, Any]:
    """Give a finding as JSON-ready values."""
    record: dict[str, Any] = _finite(finding.as_dict())
    return record


def decode_finding(record: Mapping[str, Any]) -> Finding:
    """Read a finding that ``encode_finding`` wrote."""
    values = dict(record)
    values["level"] = Level(values["level"])
    values["verdict"] = Verdict(values["verdict"])
    values["rung"] = None if values["rung"] is None else Rung(values["rung"])
    values["where"] = Where(**values["where"])
    return Finding(**values)


def encode_report(report: Report) -> dict[str, Any]:
    """Give a whole report as JSON-ready values."""
    return {
        "contract": report.contract,
        "digest": report.digest,
        "subjects": [{"stage": s.stage, "value": s.value, "label": s.label} for s in report.subjects],
        "findings": [encode_finding(item) for item in report.findings],
        "summary": report.summary,
    }


def dump_json(values: object) -> str:
    """Write JSON as this project prints it: indented, readable, null for numbers that are not finite."""
    return json.dumps(_finite(values), indent=2, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, report: Report, extra: Mapping[str, Any] | None = None) -> None:
    """Write a report to a file, whole or not at all; ``extra`` adds keys."""
    write_text(path, dump_json({**encode_report(report), **(extra or {})}) + "\n")


def _finite(values: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: _finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values
