"""What a dataset is, without a contract: the answer to "what is in these files, and which contract can it fit?"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagle3_contracts.contract import Contract, ContractError, list_catalog, load_contract
from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord, Problem, Tally
from eagle3_contracts.numerics import QuantileSketch
from eagle3_contracts.subjects.datasets.reading import Reading

_EMBEDDING = 0.9
_CONTEXT = 0.5
"""Shares of repeated tokens with bit-identical rows: at least the first in an embedding, at most this elsewhere."""

_LEAST_PAIRS = 8


def describe_reading(reading: Reading) -> dict[str, Any]:
    """Describe what was read as JSON-ready values."""
    evidence = reading.evidence
    return {
        "path": str(reading.source.path),
        "format": evidence.format,
        "written_by": reading.format.written_by if reading.format else None,
        "scan": evidence.scan,
        "files_found": evidence.files_found,
        "files_read": evidence.files_read,
        "samples": evidence.samples,
        "signatures": [_describe_signature(item, tally) for item, tally in evidence.signatures.items()],
        "planes": [_describe_plane(index, plane) for index, plane in enumerate(evidence.planes)],
        "tokens": {
            "per_sample": _describe_sketch(evidence.lengths),
            "highest_id": evidence.token_maximum,
            "below_zero": evidence.tokens_below_zero.count,
            "samples_with_equal_ids": _doubles(evidence.token_digests),
        },
        "mask": {
            "samples_all_zero": evidence.mask_all_zero.count,
            "samples_all_one": evidence.mask_all_one.count,
            "entries_neither_0_nor_1": evidence.mask_other.count,
        },
        "equal_planes": [{"planes": list(pair), "samples": t.count} for pair, t in evidence.identical_planes.items()],
        "samples_with_equal_states": _doubles(evidence.state_digests),
        "declared": {key: _plain(value) for key, value in evidence.declared.items()},
        "contracts": judge_catalog(evidence),
        "problems": [_describe_problem(problem) for problem in evidence.problems],
        "notes": list(evidence.notes),
    }


def judge_catalog(evidence: DatasetEvidence) -> list[dict[str, Any]]:
    """Say of every version of every contract in the catalog whether the dataset can be one of its, and why not."""
    judged = []
    for name, versions in list_catalog().items():
        for version in versions:
            reference = f"{name}@{version}"
            try:
                reasons = find_misfits(load_contract(reference), evidence)
            except ContractError as error:
                reasons = [f"the contract cannot be read: {error.reason}"]
            judged.append({"contract": reference, "fits": not reasons, "reasons": reasons})
    return judged


def find_misfits(contract: Contract, evidence: DatasetEvidence) -> list[str]:
    """List why the dataset cannot be one of the contract's: counts, widths, dtypes, ids, repeats, norms.

    Nothing found means that it can be, not that it is: boundaries other than 0 take the target's weights.
    """
    if evidence.format is None or not evidence.samples:
        return ["no sample was read"]
    planes = contract.stored_planes(evidence.format)
    reasons = _header_misfits(contract, evidence, len(planes))
    highest = evidence.token_maximum
    if highest is not None and highest >= contract.target.vocab_size:
        reasons.append(f"token id {highest}, the vocabulary has {contract.target.vocab_size}")
    if len(planes) != len(evidence.planes):
        return reasons
    for plane, record in zip(planes, evidence.planes, strict=True):
        embedding = tell_embedding(record)
        if embedding is not None and embedding is not (plane.boundary == 0):
            found = "an embedding output" if embedding else "no embedding output"
            reasons.append(f"plane {plane.name}: {found}, declared is boundary {plane.boundary}")
        if plane.norm and record.norms.count:
            low, high = plane.norm.median
            if not low <= record.norms.median <= high:
                reasons.append(
                    f"plane {plane.name}: median norm {record.norms.median:.3g}, declared {low:g} to {high:g}"
                )
    return reasons


def _header_misfits(contract: Contract, evidence: DatasetEvidence, planes: int) -> list[str]:
    counts = sorted({signature.planes for signature in evidence.signatures} - {planes})
    widths = sorted({width for one in evidence.signatures for width in one.widths} - {contract.target.hidden_size})
    dtype = contract.stored_dtype(evidence.format)
    dtypes = sorted({name for one in evidence.signatures for name in one.dtypes} - {dtype})
    reasons = []
    if counts:
        reasons.append(f"{_join(counts)} planes, declared are {planes}")
    if widths:
        reasons.append(f"{_join(widths)} wide, the target is {contract.target.hidden_size}")
    if dtypes:
        reasons.append(f"{_join(dtypes)}, declared is {dtype}")
    return reasons


def tell_embedding(record: PlaneRecord) -> bool | None:
    """Tell whether a plane is the embedding's output, from repeated tokens; None if that cannot be told."""
    if record.repeat_pairs < _LEAST_PAIRS:
        return None
    share = record.repeat_equal / record.repeat_pairs
    return True if share >= _EMBEDDING else False if share <= _CONTEXT else None


def _describe_signature(signature: Any, tally: Tally) -> dict[str, Any]:
    return {
        "samples": tally.count,
        "first": str(tally.first[0]) if tally.first else None,
        "planes": signature.planes,
        "widths": list(signature.widths),
        "dtypes": list(signature.dtypes),
        "rows_minus_tokens": signature.row_surplus,
        "mask_minus_tokens": signature.mask_surplus,
        "tensors": dict(signature.tensors),
    }


def _describe_plane(index: int, record: PlaneRecord) -> dict[str, Any]:
    share = record.repeat_equal / record.repeat_pairs if record.repeat_pairs else None
    return {
        "index": index,
        "rows": record.rows,
        "norm": _describe_sketch(record.norms),
        "not_finite_rows": record.nonfinite.count,
        "zero_rows": record.zero.count,
        "repeated_tokens": record.repeat_pairs,
        "share_bit_identical": share,
        "embedding_output": tell_embedding(record),
    }


def _describe_sketch(sketch: QuantileSketch) -> dict[str, float] | None:
    if not sketch.count:
        return None
    return {
        "minimum": sketch.minimum,
        "median": sketch.median,
        "p99": sketch.quantile(0.99),
        "maximum": sketch.maximum,
    }


def _describe_problem(problem: Problem) -> dict[str, Any]:
    where = {"file": problem.where.file, "tensor": problem.where.tensor, "token": problem.where.token}
    return {"kind": problem.kind, "reason": problem.reason, "remedy": problem.remedy, "where": where}


def _doubles(digests: Mapping[str, Tally]) -> int:
    return sum(tally.count - 1 for tally in digests.values())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _join(values: list[Any]) -> str:
    return ", ".join(str(value) for value in values)
