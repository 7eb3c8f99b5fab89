"""Stamps: the capture manifest, written beside a dataset or a checkpoint, and into a checkpoint on demand.

The one command that writes to an artifact. What contradicts the contract is refused: a stamp states what is so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagle3_contracts import __version__
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import (
    STAMP_FILE,
    STAMP_KEY,
    contradictions,
    digest_ids,
    stamp_of_checkpoint,
    stamp_of_dataset,
    stamp_tokens,
)
from eagle3_contracts.findings import Finding, Level, Verdict, Where
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.checkpoints.folder import open_folder
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.reading import Reading, open_source, read_dataset, read_sample
from eagle3_contracts.subjects.datasets.stored import UnreadableError, read_integers
from eagle3_contracts.writing.files import replacing
from eagle3_contracts.writing.headers import write_metadata

FORM = 1
_TOOL = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be stamped. ``tools``: NAME==VERSION. ``in_place``: into a checkpoint's own files as well."""

    path: Path
    dataset_format: str | None = None
    tools: tuple[str, ...] = ()
    in_place: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Stamped:
    """What was written. ``assumed``: what nobody told, so that the stamp does not say it."""

    files: tuple[Path, ...]
    stamp: dict[str, Any]
    assumed: tuple[str, ...]


def stamp(contract: Contract, order: Order) -> Stamped:
    """Stamp a dataset or a checkpoint. Raises ``SubjectError`` for one that contradicts the contract or its stamp."""
    if not order.path.exists():
        raise SubjectError(str(order.path), "does not exist", remedy="give a dataset, or the folder of a checkpoint")
    folder = order.path if order.path.is_dir() else order.path.parent
    if (folder / "config.json").is_file():
        return _stamp_checkpoint(contract, order, folder)
    if order.in_place:
        reason = "is a dataset, whose stamp lies beside it"
        raise SubjectError(str(order.path), reason, remedy="leave --in-place out; it is for checkpoints")
    return _stamp_dataset(contract, order)


def _stamp_dataset(contract: Contract, order: Order) -> Stamped:
    value = f"{order.dataset_format}:{order.path}" if order.dataset_format else str(order.path)
    reading = read_dataset(open_source(str(order.path), value, contract, Options(scan="headers")))
    declared = stamp_of_dataset(contract, reading.evidence.format)
    _refuse_existing(reading.evidence.declared.get("stamp"), declared, order, STAMP_FILE)
    _refuse_defects("dataset", contract, reading.evidence, order)
    tools = _read_tools(order.tools, reading.evidence.declared)
    made = _complete(declared, tools, tokens=_read_tokens(reading))
    path = (order.path if order.path.is_dir() else order.path.parent) / STAMP_FILE
    _write_json(path, made)
    return Stamped((path,), made, _untold(tools))


def _stamp_checkpoint(contract: Contract, order: Order, folder: Path) -> Stamped:
    evidence = gather_evidence(contract, Subject("checkpoint", str(order.path), folder.name), Options(scan="headers"))
    declared = stamp_of_checkpoint(contract)
    for place, found in evidence.stamps.items():
        _refuse_existing(found, declared, order, place)
    _refuse_defects("checkpoint", contract, evidence, order)
    tools = _read_tools(order.tools, evidence.config)
    made = _complete(declared, tools)
    written: list[Path] = []
    untold = list(_untold(tools))
    if order.in_place:
        for file in open_folder(order.path).files:
            if file.suffix == ".safetensors":
                write_metadata(file.path, STAMP_KEY, json.dumps(made, ensure_ascii=False))
                written.append(file.path)
            else:
                untold.append(f"{file.name} holds no metadata, so it says nothing of itself")
        _write_json(folder / "config.json", {**evidence.config, STAMP_KEY: made})
        written.append(folder / "config.json")
    _write_json(folder / STAMP_FILE, made)
    return Stamped((*written, folder / STAMP_FILE), made, tuple(untold))


def _refuse_existing(found: Any, declared: Mapping[str, Any], order: Order, place: str) -> None:
    """Refuse to put a stamp in place of one that says otherwise, unless that is asked for."""
    if order.replace or not isinstance(found, Mapping):
        return
    differing = contradictions(found, declared)
    if differing:
        first = differing[0]
        reason = f"{place} already says {first.key} = {str(first.said)[:80]}, this contract says {first.declared}"
        raise SubjectError(str(order.path), reason, remedy="stamp by the contract that it was made for, or --replace")


def _refuse_defects(stage: str, contract: Contract, evidence: Any, order: Order) -> None:
    """Refuse what violates a must that headers show; the old stamp is no reason where it is to be replaced."""
    findings = [
        item
        for clause in clauses_of(stage)
        if clause.id != f"{stage}.declaration"
        for item in judge_clause(clause, contract, evidence)
    ]
    failed = [item for item in findings if item.verdict is Verdict.FAILED and item.level is Level.MUST]
    if failed or not any(item.verdict is Verdict.PASSED for item in findings):
        raise SubjectError(str(order.path), _say_defects(failed, contract), remedy=_remedy(failed, contract, stage))


def _say_defects(failed: Iterable[Finding], contract: Contract) -> str:
    told = [f"{item.clause}: {item.observed}, expected {item.expected}" for item in failed]
    return f"is not what {contract.reference} says: " + ("; ".join(told) or "nothing in it could be read")


def _remedy(failed: list[Finding], contract: Contract, stage: str) -> str:
    flag = "--hidden-states" if stage == "dataset" else "--checkpoint"
    look = f"see all of it: eagle3-contracts check {contract.reference} {flag} PATH"
    return f"{failed[0].hint}; {look}" if failed and failed[0].hint else look


def _read_tools(given: tuple[str, ...], declared: Mapping[str, Any]) -> dict[str, str]:
    """Read NAME==VERSION; add what the artifact says of the tool that wrote it."""
    tools: dict[str, str] = {}
    config = declared.get("data_config")
    for table in (declared, config if isinstance(config, dict) else {}):
        version = table.get("speculators_version")
        if isinstance(version, str):
            tools["speculators"] = version
    for text in given:
        match = _TOOL.fullmatch(text)
        if match is None:
            raise SubjectError(text, "is no tool with a version", remedy="write --tool specforge==0.2.0")
        tools[match["name"]] = match["version"]
    return tools


def _read_tokens(reading: Reading) -> dict[str, Any]:
    """Digest the token ids of every sample; states are not read."""
    digests: Counter[str] = Counter()
    entries: list[Any] = []
    last: Path | None = None
    for file, index, _ in reading.samples:
        where = Where(file=file.name)
        try:
            if file.path != last:
                entries, last = open_file(file), file.path
            ids = read_sample(entries[index], reading).token_ids
            if ids is None:
                raise UnreadableError("missing", "holds no token ids", "capture them beside the states", where)  # noqa: TRY301
            digests[digest_ids(read_integers(ids, "token ids", where).tobytes())] += 1
        except UnreadableError as error:
            raise SubjectError(str(error.problem.where), error.problem.reason, remedy=error.problem.remedy) from None
    return stamp_tokens(digests)


def _complete(declared: dict[str, Any], tools: dict[str, str], **more: Any) -> dict[str, Any]:
    by = {"eagle3-contracts": __version__}
    return {"stamp": FORM, **declared, **({"tools": tools} if tools else {}), "stamped_by": by, **more}


def _untold(tools: Mapping[str, str]) -> tuple[str, ...]:
    return () if tools else ("the tool that made it, and its version: --tool NAME==VERSION",)


def _write_json(path: Path, table: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write((json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))
