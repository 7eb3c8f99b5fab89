"""Two faults put into one sound subject, the second on top of the first."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults import Fault
from eagle3_contracts.faults.injecting.captures import CAPTURE_INJECTIONS
from eagle3_contracts.faults.injecting.checkpoints import CHECKPOINT_INJECTIONS, CheckpointInjection, prepare_export
from eagle3_contracts.faults.injecting.datasets import DATASET_INJECTIONS, prepare_dump
from eagle3_contracts.faults.injecting.documents import DOCUMENT_INJECTIONS
from eagle3_contracts.faults.injecting.exports import Export
from eagle3_contracts.faults.injecting.goldens import _AFTERWARDS, GOLDEN_INJECTIONS, Recording
from eagle3_contracts.faults.injecting.launches import LAUNCH_INJECTIONS, Launch
from eagle3_contracts.faults.injecting.loaders import LOADER_INJECTIONS
from eagle3_contracts.faults.injecting.servers import StandIn
from eagle3_contracts.faults.injecting.servers.deforming import CONTENT_FAULTS
from eagle3_contracts.findings import Finding
from eagle3_contracts.run import DOCUMENT
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from eagle3_contracts.subjects.loaders.reference import STEPS, ReferenceLoader, make_reference_loader
from support.museum.exhibits import judge_server, judge_subject

_OTHER_LOADERS = {"loader-all-planes-but-last", "loader-tokens-uncompared"}
"""Faults of a loader of another contract or format."""

Judged = Callable[[Fault, Fault, Contract, Path], list[Finding]]


def judge_pair(first: Fault, second: Fault, contract: Contract, folder: Path) -> list[Finding]:
    """Put two faults of one stage into a sound subject and give the findings of that stage's clauses."""
    return _JUDGES[first.stage](first, second, contract, folder)


def can_be_combined(first: Fault, second: Fault) -> bool:
    """Tell whether two faults start from the same sound subject, and are done to it one after the other."""
    if first.stage != second.stage or first == second:
        return False
    return _COMBINABLE[first.stage](first.id, second.id) if first.stage in _COMBINABLE else True


def _same_dump(first: str, second: str) -> bool:
    one, other = DATASET_INJECTIONS[first], DATASET_INJECTIONS[second]
    return (one.suffix, one.embedding) == (other.suffix, other.embedding)


def _other_parts(first: str, second: str) -> bool:
    """Tell whether two faults replace other parts of the same sound loader."""
    loader = make_reference_loader(load_contract(CONTRACT), "speculators-v1")
    parts = [set(_changes(fault_id, loader)) for fault_id in (first, second)]
    return {first, second}.isdisjoint(_OTHER_LOADERS) and parts[0].isdisjoint(parts[1])


_COMBINABLE: dict[str, Callable[[str, str], bool]] = {
    "dataset": _same_dump,
    "loader": _other_parts,
    "checkpoint": lambda first, second: (
        _start(CHECKPOINT_INJECTIONS[first]) == _start(CHECKPOINT_INJECTIONS[second]) is not None
    ),
    "server": lambda first, second: {first, second} <= set(CONTENT_FAULTS),
    "golden": lambda first, second: {first, second}.isdisjoint({*_AFTERWARDS, "golden-manifest-cut-off"}),
}
"""By stage: what two faults must have in common; without an entry any two can be combined."""


def _start(injection: CheckpointInjection) -> tuple[Any, ...] | None:
    """Give what a faulty export starts from, none if the fault lies in how it is made or written."""
    written = injection.after or injection.write is not Export.write
    if injection.spoil is None or written or injection.changes or injection.lost:
        return None
    return (injection.form, tuple(injection.engines.items()), injection.recorded)


def _judge_documents(first: Fault, second: Fault, contract: Contract, _: Path) -> list[Finding]:
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    for fault in (first, second):
        DOCUMENT_INJECTIONS[fault.id](document)
    return judge_subject(Contract.model_validate_json(json.dumps(document)), DOCUMENT)


def _judge_captures(first: Fault, second: Fault, contract: Contract, _: Path) -> list[Finding]:
    capture: Any = open_embedded_capture(contract)
    for fault in (first, second):
        capture = CAPTURE_INJECTIONS[fault.id](capture)
    return judge_subject(contract, Subject("capture", "faulty:capture", "faulty", capture))


def _judge_datasets(first: Fault, second: Fault, contract: Contract, folder: Path) -> list[Finding]:
    start = DATASET_INJECTIONS[first.id]
    contract, dump = prepare_dump(contract, folder, start.suffix, embedding=start.embedding)
    for fault in (first, second):
        DATASET_INJECTIONS[fault.id].spoil(dump)
    return judge_subject(contract, Subject("dataset", str(dump.write()), "faulty"))


def _judge_loaders(first: Fault, second: Fault, contract: Contract, _: Path) -> list[Finding]:
    def factory(asked: Contract) -> Any:
        loader = make_reference_loader(asked, "speculators-v1")
        changes = {**_changes(first.id, loader), **_changes(second.id, loader)}
        steps = dataclasses.replace(loader.steps, **{name: changes.pop(name) for name in _STEPS & set(changes)})
        return dataclasses.replace(loader, steps=steps, **changes).as_subject()

    return judge_subject(contract, Subject("loader", "faulty:factory", "faulty", factory))


_STEPS = {field.name for field in dataclasses.fields(STEPS)}


def _changes(fault_id: str, loader: ReferenceLoader) -> dict[str, Any]:
    """Give the parts and steps of a sound loader that a fault replaces."""
    faulty = LOADER_INJECTIONS[fault_id](loader)
    parts = {field.name for field in dataclasses.fields(loader)} - {"steps"}
    pairs = [(faulty, loader, parts), (faulty.steps, loader.steps, _STEPS)]
    return {
        name: getattr(one, name)
        for one, other, names in pairs
        for name in names
        if _differ(getattr(one, name), getattr(other, name))
    }


def _differ(one: Any, other: Any) -> bool:
    """Compare parts; tensors, which no fault replaces, by identity."""
    return one is not other and (hasattr(one, "shape") or bool(one != other))


def _judge_checkpoints(first: Fault, second: Fault, contract: Contract, folder: Path) -> list[Finding]:
    start = CHECKPOINT_INJECTIONS[first.id]
    contract, export = prepare_export(contract, folder, start.form, engines=start.engines, recorded=start.recorded)
    for fault in (first, second):
        spoil = CHECKPOINT_INJECTIONS[fault.id].spoil
        assert spoil is not None
        spoil(export)
    return judge_subject(contract, Subject("checkpoint", str(export.write()), "faulty"))


def _judge_launches(first: Fault, second: Fault, contract: Contract, folder: Path) -> list[Finding]:
    launch = Launch(contract, folder)
    for fault in (first, second):
        LAUNCH_INJECTIONS[fault.id](launch)
    return judge_subject(launch.contract, Subject("launch", str(launch.script), "faulty"), target=False)


def _judge_servers(first: Fault, second: Fault, contract: Contract, _: Path) -> list[Finding]:
    stand_in = StandIn()
    for fault in (first, second):
        _add(CONTENT_FAULTS[fault.id], stand_in)
    return judge_server(contract, stand_in)


def _add(deformation: Callable[[StandIn], None], stand_in: StandIn) -> None:
    """Deform a stand-in that is deformed already: what it says and answers passes through both."""
    inform, edit = stand_in.inform, stand_in.edit
    stand_in.inform, stand_in.edit = StandIn().inform, StandIn().edit
    deformation(stand_in)
    added_inform, added_edit = stand_in.inform, stand_in.edit
    stand_in.inform = lambda info: added_inform(inform(info))
    stand_in.edit = lambda given, asked: added_edit(edit(given, asked), asked)


def _judge_goldens(first: Fault, second: Fault, contract: Contract, folder: Path) -> list[Finding]:
    recording = Recording(contract, folder)
    for fault in (first, second):
        GOLDEN_INJECTIONS[fault.id](recording)
    recording.list_files()
    return judge_subject(recording.contract, Subject("golden", str(recording.write()), "faulty"))


_JUDGES: dict[str, Judged] = {
    "contract": _judge_documents,
    "capture": _judge_captures,
    "dataset": _judge_datasets,
    "loader": _judge_loaders,
    "checkpoint": _judge_checkpoints,
    "launch": _judge_launches,
    "server": _judge_servers,
    "golden": _judge_goldens,
}
