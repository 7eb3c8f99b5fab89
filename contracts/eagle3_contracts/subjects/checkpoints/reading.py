"""From files to evidence: config, tensors, vocabulary, values, and what running the drafter shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagle3_contracts.consumers import is_harmless
from eagle3_contracts.consumers.config_types import find_wrong_types
from eagle3_contracts.drafter import canonical_names
from eagle3_contracts.evidence import CheckpointEvidence, Problem, WeightRecord
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.checkpoints.folder import Folder, open_folder
from eagle3_contracts.subjects.checkpoints.lending import hold_against_target
from eagle3_contracts.subjects.checkpoints.quantising import find_quantisation
from eagle3_contracts.subjects.checkpoints.recognition import recognise
from eagle3_contracts.subjects.checkpoints.running import run_drafter
from eagle3_contracts.subjects.checkpoints.special_tokens import find_special_tokens
from eagle3_contracts.subjects.checkpoints.stamps import read_stamps
from eagle3_contracts.subjects.checkpoints.values import read_values
from eagle3_contracts.subjects.datasets.safetensors_files import open_safetensors
from eagle3_contracts.subjects.datasets.stored import (
    INTEGERS,
    FoundFile,
    StoredTensor,
    UnreadableError,
    read_integers,
)
from eagle3_contracts.subjects.datasets.torch_files import open_torch
from eagle3_contracts.subjects.datasets.walking import printable

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

_REMEDIES = {
    "truncated": "export the checkpoint again, or copy it again: the file was not written to its end",
    "corrupt": "export the checkpoint again, and check the disk it lay on",
}
_SPREAD = 0.02
"""initializer_range of transformers' configs, where config.json states none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """The tensors of a checkpoint, memory-mapped where their file allows it, by stored name."""

    folder: Folder
    tensors: Mapping[str, tuple[str, StoredTensor]]
    problems: tuple[Problem, ...]
    metadata: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)


def read_checkpoint_evidence(contract: Contract, subject: Subject, options: Options) -> CheckpointEvidence:
    """Read everything that the clauses need; see ``gather``."""
    opened = open_checkpoint(Path(subject.value))
    config = opened.folder.config
    form = recognise(config, opened.tensors)
    problems = [*opened.problems]
    if form is None and not problems:
        reason = "neither config.json nor the tensors' names are of a form that a trainer writes"
        remedy = "export with speculators, SpecForge (export_to_sglang), ModelOpt or EAGLE's own code"
        problems.append(Problem("unknown-format", reason, remedy, Where(file="config.json")))
    problems += _find_wrong_types(config)
    renamed, clash = _rename(opened, form)
    problems += clash
    evidence = CheckpointEvidence(
        subject=subject.label,
        form=form,
        scan=options.scan,
        config=config,
        weights={name: _record(opened, name, renamed, options) for name in opened.tensors},
        idle=tuple(name for name in opened.tensors if name not in renamed),
        d2t=_read_d2t(opened, problems),
        t2d=_read_t2d(opened),
        special_tokens=find_special_tokens(_target_folder(options), opened.folder.root),
        quantisation=find_quantisation(opened.folder.root, config),
        stamps=read_stamps(opened.folder.root, config, opened.metadata, problems),
        problems=tuple(problems),
    )
    if options.scan == "headers":
        return dataclasses.replace(evidence, notes=("no values were read (scan: headers)",))
    stored = {renamed[name]: tensor for name, (_, tensor) in opened.tensors.items() if name in renamed}
    evidence, lent = hold_against_target(evidence, contract, stored, options)
    return run_drafter(evidence, contract, stored, lent, options)


def open_checkpoint(path: Path) -> Opened:
    """Open a checkpoint's files; what cannot be read is a problem."""
    folder = open_folder(path)
    problems = list(folder.problems)
    tensors: dict[str, tuple[str, StoredTensor]] = {}
    metadata: dict[str, Mapping[str, str]] = {}
    for found in folder.files:
        try:
            values, metadata[found.name] = _open_file(found)
        except UnreadableError as error:
            remedy = _REMEDIES.get(error.problem.kind, error.problem.remedy)
            problems.append(dataclasses.replace(error.problem, remedy=remedy))
            continue
        for name, value in values.items():
            if not isinstance(value, StoredTensor):
                continue
            if name in tensors:
                reason = f"{name} stands in {tensors[name][0]} too, and which one is loaded depends on the reader"
                where = Where(file=found.name, tensor=name)
                problems.append(Problem("corrupt", reason, "keep one copy of each tensor", where))
            tensors[name] = (found.name, value)
    if not problems:
        problems += _find_misplaced(folder, tensors)
    return Opened(folder, tensors, tuple(problems), metadata)


def _find_misplaced(folder: Folder, tensors: Mapping[str, tuple[str, StoredTensor]]) -> Iterator[Problem]:
    """Give, in one problem, the tensors that an index names and its shard does not hold."""
    odd = [name for name, shard in folder.indexed.items() if name not in tensors or tensors[name][0] != shard]
    if odd:
        first = printable(odd[0][:80])
        more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        reason = f"the index places {first}{more} in shards that do not hold them"
        remedy = "write the index again: readers that follow it stop, or leave these tensors as they were"
        yield Problem("corrupt", reason, remedy, Where(tensor=first))


def _find_wrong_types(config: Mapping[str, Any]) -> Iterator[Problem]:
    """Give each key of config.json that holds another kind of value than every engine takes it for."""
    for item in find_wrong_types(config):
        number = f": {item.value}" if isinstance(item.value, str) and item.value.isdecimal() else ""
        bare = ", without quotes" if isinstance(item.value, str) else ""
        remedy = f"write {item.key} as {item.wanted}{number}{bare}"
        yield Problem("config", f"config.json: {item}", remedy, Where(file="config.json", flag=item.key))


def _open_file(found: FoundFile) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Give the values of a file by name, and its metadata."""
    if found.suffix == ".safetensors":
        entry = open_safetensors(found)
        return entry.values, entry.metadata
    entries = open_torch(found, sums=False)
    if len(entries) != 1:
        raise UnreadableError(
            "unknown-format", "a list where a state_dict belongs", "save a state_dict", Where(found.name)
        )
    values = entries[0].values
    if values and not any(isinstance(value, StoredTensor) for value in values.values()):
        names = ", ".join(printable(str(name)[:40]) for name in list(values)[:3])
        reason = f"holds no tensors but {names}: a trainer's own save, where engines look for a plain state_dict"
        remedy = "save the state_dict alone, or use the trainer's exporter"
        raise UnreadableError("unsupported", reason, remedy, Where(found.name))
    return values, {}


def _rename(opened: Opened, form: str | None) -> tuple[dict[str, str], list[Problem]]:
    """Give the canonical name of each stored one by the form's own table; names that clash keep their own.

    What every engine skips has none.
    """
    names = [name for name in opened.tensors if not is_harmless(name)]
    if form is None:
        return {name: name for name in names}, []
    try:
        return canonical_names(names, form), []
    except ValueError as error:
        problem = Problem("corrupt", str(error), "keep one copy of each tensor", Where(file=opened.folder.root.name))
        return {name: name for name in names}, [problem]


def _record(opened: Opened, name: str, renamed: Mapping[str, str], options: Options) -> WeightRecord:
    file, tensor = opened.tensors[name]
    spread = opened.folder.config.get("initializer_range", _SPREAD)
    values = (
        None if options.scan == "headers" else read_values(tensor, spread if isinstance(spread, float) else _SPREAD)
    )
    return WeightRecord(file, tensor.dtype, tensor.shape, renamed.get(name, name), values)


def _named(opened: Opened, label: str) -> tuple[str, StoredTensor] | None:
    """Give a vocabulary's tensor, under its own name or below a prefix."""
    return next((item for name, item in opened.tensors.items() if name.rpartition(".")[2] == label), None)


def _read_d2t(opened: Opened, problems: list[Problem]) -> Any:
    found = _named(opened, "d2t")
    if found is None:
        return None
    file, tensor = found
    try:
        return read_integers(tensor, "d2t", Where(file=file, tensor="d2t"))
    except UnreadableError:
        reason = f"d2t is {tensor.dtype}, and token ids are whole numbers"
        problems.append(Problem("vocabulary", reason, "store d2t as int64", Where(file=file, tensor="d2t")))
        return None


def _read_t2d(opened: Opened) -> Any:
    found = _named(opened, "t2d")
    if found is None:
        return None
    tensor = found[1]
    if tensor.dtype != "bool" and tensor.dtype not in INTEGERS:
        return None
    return np.asarray(tensor.bits).astype(bool).ravel()


def _target_folder(options: Options) -> Path | None:
    if options.target is None:
        return None
    path = Path(options.target)
    return path if path.is_dir() else path.parent
