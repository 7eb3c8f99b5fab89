"""Tensors of a checkpoint against those of the declared drafter: there, read, of their shape and dtype."""

from __future__ import annotations

from difflib import get_close_matches

from eagle3_contracts.clauses.checkpoint.files import find_tensor_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, judge_engines, state
from eagle3_contracts.clauses.checkpoint.layer import find_layer_defects
from eagle3_contracts.clauses.checkpoint.quantisation import (
    find_stated_methods,
    group_quantiser_tensors,
    is_quantiser_tensor,
)
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.consumers import Reading
from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import INTEGER_TENSORS, expected_tensors
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Where
from eagle3_contracts.registry import Clause

_EXPORT = "export it again with the trainer's own exporter"


def check_tensors_present(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each tensor of the drafter that is neither stored nor lent by the target."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    expected, stored = expected_tensors(contract), evidence.canonical()
    missing = [name for name, tensor in expected.items() if name not in stored and not tensor.borrowed]
    strays = sorted(set(stored) - set(expected))
    lent = [name for name, tensor in expected.items() if name not in stored and tensor.borrowed]
    told = f", {' and '.join(lent)} lent by the target" if lent else ""
    defects = [_tell_missing(names, strays) for names in _group(missing)]
    sound = f"all {say_count(len(expected) - len(lent), 'tensor')} of the drafter are there{told}"
    return state(clause, evidence, defects, sound=sound, expected="every tensor of the declared drafter")


def _group(missing: list[str]) -> list[list[str]]:
    """Put tensors of one layer together: a table of names that was lost leaves out all of them."""
    groups: dict[str, list[str]] = {}
    for name in missing:
        groups.setdefault(".".join(name.split(".")[:2]) if name.startswith("layers.") else name, []).append(name)
    return list(groups.values())


def _tell_missing(names: list[str], strays: list[str]) -> Defect:
    first = names[0]
    tail = ".".join(first.split(".")[2:]) if first.startswith("layers.") else first
    similar = [stray for stray in strays if stray.endswith(tail)] or get_close_matches(first, strays, 1, 0.8)
    renamed = f"; {similar[0]} may be the first of them under another name" if similar else ""
    told = f"{first} is missing" if len(names) == 1 else f"{first} and {len(names) - 1} more of its layer are missing"
    instead = "take draft ids for target ids" if first == "d2t" else "start it at random values"
    hint = f"engines {instead} without a word: {_EXPORT}, and see that every name is translated"
    return Defect(told + renamed, Where(tensor=first), hint, float(len(names)))


def check_tensors_read(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each stored tensor that the declared drafter has no use for."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    expected = expected_tensors(contract)
    unread = {
        name: record
        for name, record in evidence.weights.items()
        if name not in evidence.idle and record.canonical not in expected
    }
    hint = (
        "either the drafter has a part that the contract does not declare (drafter.fc, attention, layers), or the "
        f"export wrote too much: declare it, or {_EXPORT}"
    )
    defects = [
        Defect(
            f"{name} {list(record.shape)} is read by nothing that the contract declares",
            _place(record.file, name),
            hint,
        )
        for name, record in unread.items()
        if not is_quantiser_tensor(name)
    ]
    defects += group_quantiser_tensors((name for name in unread if is_quantiser_tensor(name)), evidence)
    idle = f", {', '.join(evidence.idle)} beside them" if evidence.idle else ""
    sound = f"{say_count(len(evidence.weights) - len(evidence.idle), 'tensor')} are read{idle}"
    return state(clause, evidence, defects, sound=sound, expected="tensors of the declared drafter only")


def check_shapes(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each tensor of another shape than the declared drafter's, and for a config that says another layer."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    expected, stored = expected_tensors(contract), evidence.canonical()
    common = [name for name in expected if name in stored]
    hint = "this is a drafter of another width, depth or vocabulary: compare config.json with the contract's [drafter]"
    defects = [
        Defect(
            f"{name} is {list(stored[name].shape)}, not {list(expected[name].shape)}",
            _place(stored[name].file, name),
            hint,
        )
        for name in common
        if stored[name].shape != expected[name].shape
    ]
    defects += find_layer_defects(contract, evidence)
    fits = ", and a config.json that fits them" if evidence.config else ""
    sound = f"{say_count(len(common), 'tensor')} as declared{fits}"
    return state(clause, evidence, defects, sound=sound, expected="the declared layer")


def check_dtypes(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for weights in another dtype than ``drafter.dtype`` (absent: the target's), or said to be quantised."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared = contract.drafter.dtype or contract.target.dtype
    expected = expected_tensors(contract)
    odd: dict[str, list[str]] = {}
    for name, record in evidence.canonical().items():
        if name not in expected and is_quantiser_tensor(name):
            continue
        whole = record.dtype.startswith(("int", "uint"))
        if whole is not (name in INTEGER_TENSORS) or not (whole or record.dtype == declared):
            odd.setdefault(record.dtype, []).append(name)
    defects = [
        Defect(
            f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''} in {dtype}",
            Where(tensor=names[0]),
            f"save weights in {declared} and d2t as int64, or declare drafter.dtype",
            float(len(names)),
        )
        for dtype, names in odd.items()
    ]
    defects += find_stated_methods(contract, evidence)
    return state(
        clause, evidence, defects, sound=f"weights in {declared}", expected=f"weights in {declared}, d2t whole"
    )


def check_engine_tensors(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each engine that drops, refuses or never applies a stored tensor, or finds none for a parameter."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]

    def is_known(name: str) -> bool:
        """Leave out what layers read that engines build for a stated method: that is ``checkpoint.dtypes``'s fault."""
        return not (evidence.quantisation and is_quantiser_tensor(name))

    def judge(reading: Reading) -> str:
        parts = {
            "refuses": reading.refused,
            "drops without a word": reading.dropped,
            "loads and never applies": reading.idle,
            "leaves at their initial values": reading.unfilled,
        }
        told = {what: tuple(filter(is_known, names)) for what, names in parts.items()}
        return ", ".join(f"{what} {_list(names)}" for what, names in told.items() if names)

    return judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected="every tensor loaded and applied, every parameter filled",
        sound="every tensor loaded and applied",
        hint="serve versions that read these names and flags (`eagle3-contracts explain NAME --checkpoint DIR`), or "
        "set the flags that switch the parameters on",
    )


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def _place(file: str, name: str) -> Where:
    return Where(file=file, tensor=name)
