"""What files say of themselves: the norm flag of ModelOpt and TorchSpec, speculators' layer ids, a contract's stamp.

Needs no tensor: a trainer believes these words, so that a wrong one does its harm even beside right states.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from packaging.version import InvalidVersion

from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.stamps import judge_stamp, say_assumed
from eagle3_contracts.clauses.states import declared_candidate, say_candidate
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import STAMP_FILE, stamp_of_dataset, stamp_tokens, unknown_samples
from eagle3_contracts.dialects import NotVerified, find_dialect
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def check_declaration(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for every declaration that contradicts the contract; skipped if the files declare nothing."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    said = [*_norm_flag(clause, contract, evidence), *_stamp(clause, contract, evidence)]
    said += _layer_ids(clause, contract, evidence)
    if not said:
        assumed = say_assumed(stamp_of_dataset(contract, evidence.format))
        reason = f"files of format {evidence.format} say nothing of what they hold here: {assumed}"
        return [Obstacle(reason, skips=True).finding(clause, evidence.subject)]
    return [item for item in said if item.verdict is not Verdict.PASSED] or said


def _norm_flag(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> Iterator[Finding]:
    """Hold ``hidden_states_prenorm`` against the last stored plane; a tuple of both means that files differ."""
    flag = evidence.declared.get("hidden_states_prenorm")
    last = contract.stored_planes(evidence.format)[-1]
    if flag is None:
        return
    declared = contract.norms_last_hidden() if last == contract.last_hidden_plane() else last.state != "post_norm"
    differing = not isinstance(flag, bool)
    holds = flag is declared
    yield clause.find(
        Verdict.PASSED if holds else Verdict.FAILED,
        evidence.subject,
        observed="files differ in hidden_states_prenorm"
        if differing
        else f"the files say hidden_states_prenorm = {flag}",
        expected=f"hidden_states_prenorm = {declared}: the last stored plane, {last.name}, is boundary "
        f"{say_candidate(declared_candidate(last))}",
        where=Where(plane=last.name, flag="hidden_states_prenorm"),
        measure=0.0 if holds else 1.0,
        bound=0.0,
        hint=""
        if holds
        else "the trainer applies the final norm if this flag is true: write into every file what its states are",
    )


def _stamp(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> Iterator[Finding]:
    """Hold the stamp against the contract, the files' headers, and the token ids that were read."""
    stamp = evidence.declared.get("stamp")
    if not isinstance(stamp, dict):
        return
    where = Where(file=STAMP_FILE)
    declared = stamp_of_dataset(contract, evidence.format)
    yield from judge_stamp(clause, evidence.subject, "dataset", stamp, declared, where)
    yield from _stamped_dtype(clause, stamp, evidence)
    yield from _stamped_tokens(clause, stamp, evidence)


def _stamped_dtype(clause: Clause, stamp: dict[str, Any], evidence: DatasetEvidence) -> Iterator[Finding]:
    """Fail if the files are stored in another dtype than when they were stamped."""
    said = stamp.get("dtype")
    stored = sorted({dtype for signature in evidence.signatures for dtype in signature.dtypes})
    if said is None or not stored or stored == [said]:
        return
    yield clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"the files store {' and '.join(stored)}",
        expected=f"{str(said)[:40]}, as stamped",
        where=Where(file=STAMP_FILE, flag="dtype"),
        measure=float(len(stored)),
        bound=0.0,
        hint="the states were converted after they were stamped: capture them again, or stamp what they are now",
    )


def _stamped_tokens(clause: Clause, stamp: dict[str, Any], evidence: DatasetEvidence) -> Iterator[Finding]:
    """Fail for token ids that were not there when the dataset was stamped, or samples that are there no longer."""
    tokens = stamp.get("tokens")
    if not isinstance(tokens, dict):
        return
    where = Where(file=STAMP_FILE, flag="tokens")
    counts = {digest: tally.count for digest, tally in evidence.token_digests.items()}
    unknown = unknown_samples(tokens, counts)
    whole = evidence.scan != "sample" or evidence.files_read == evidence.files_found
    if not whole and not counts:
        return
    told = ""
    if unknown:
        where = Where(file=evidence.token_digests[unknown[0]].place.file, flag="tokens")
        told = f"{len(unknown)} of {len(counts)} samples read have token ids that were not stamped"
    elif whole and tokens.get("samples") != evidence.samples:
        told = f"{evidence.samples} samples, and {str(tokens.get('samples'))[:20]} were stamped"
    elif whole and counts and stamp_tokens(counts)["digest"] != tokens.get("digest"):
        told = "the token ids of all samples have another digest than when they were stamped"
    held = f"the token ids of {len(counts)} samples read are those that were stamped"
    yield clause.find(
        Verdict.FAILED if told else Verdict.PASSED,
        evidence.subject,
        observed=told or (held if counts else f"{evidence.samples} samples, as were stamped; no token ids were read"),
        expected="the samples that were stamped",
        where=where,
        measure=float(max(1, len(unknown))) if told else 0.0,
        bound=0.0,
        hint="files were added, lost or replaced: restore the dataset, or stamp what it is now" if told else "",
    )


def _layer_ids(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> Iterator[Finding]:
    """Hold the layer ids of speculators' data_config.json (0.3 to 0.5), in its own dialect, against the planes."""
    config = evidence.declared.get("data_config")
    ids = _read(config, "hidden_states", "layer_ids")
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        return
    where = Where(file="data_config.json", flag="hidden_states.layer_ids")
    version = _read(config, "speculators_version")
    try:
        dialect = find_dialect(
            "speculators", version if isinstance(version, str) else None, contract.target.architecture
        )
    except InvalidVersion:
        dialect = None
    if dialect is None or isinstance(dialect, NotVerified):
        reason = str(dialect) if dialect else f"speculators_version is {str(version)[:40]!r}, no version"
        yield Obstacle(reason, "write the version of speculators that captured the states", where).finding(
            clause, evidence.subject
        )
        return
    found = dialect.resolve(ids, contract.target.num_hidden_layers).boundaries
    declared = tuple(plane.boundary for plane in contract.stored_planes(evidence.format))
    yield clause.find(
        Verdict.PASSED if found == declared else Verdict.FAILED,
        evidence.subject,
        observed=f"layer ids {ids} are boundaries {', '.join(map(str, found)) or 'none'} to {dialect.label}",
        expected=f"boundaries {', '.join(map(str, declared))}",
        where=where,
        measure=float(sum(one != other for one, other in zip_longest(found, declared))),
        bound=0.0,
        hint=""
        if found == declared
        else "capture again with the ids that "
        f"`eagle3-contracts explain {contract.reference}` lists for {dialect.label}",
    )


def _read(table: Any, *keys: str) -> Any:
    """Look a value up in nested tables; None if it is not there."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table
