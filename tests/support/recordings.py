"""Datasets for real trainers, made of the embedded default's recording, and what clauses say of data and exports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import NAME, VERSION, embedded_target
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.goldens import open_golden
from eagle3_contracts.subjects.loaders.protocol import StoredSample
from eagle3_contracts.subjects.loaders.writing import WRITERS

PROMPT = 4
SHORTEST = 12
"""Sequences of the recording that have fewer tokens are left out: too short to train on."""


@dataclass(frozen=True)
class Wiring:
    """What lies in the stored planes: boundaries in order, the last one for the targets, in one norm state or other."""

    boundaries: tuple[int, ...]
    normed: bool


def read_states() -> list[ReferenceStates]:
    """Read every recorded sequence that is long enough."""
    golden = open_golden(NAME, VERSION)
    states = [golden.states(number) for number in range(len(golden))]
    return [item for item in states if len(item.token_ids) >= SHORTEST]


def declared_wiring(contract: Contract, dataset_format: str) -> Wiring:
    """Give what the contract stores in a format."""
    planes = contract.stored_planes(dataset_format)
    return Wiring(tuple(plane.boundary for plane in planes), planes[-1].state == "post_norm")


def make_samples(wiring: Wiring, states: Iterable[ReferenceStates] | None = None) -> list[StoredSample]:
    """Make samples of recorded states; the first tokens are a prompt that the mask leaves out."""
    made = []
    for item in read_states() if states is None else states:
        planes: list[Array] = [item.boundaries[boundary] for boundary in wiring.boundaries]
        if wiring.normed:
            planes[-1] = item.final
        tokens = item.token_ids.tolist()
        mask = [int(at >= PROMPT) for at in range(len(tokens))]
        made.append(StoredSample(tokens, np.ascontiguousarray(np.stack(planes), np.float32), mask))
    return made


def write_dataset(folder: Path, dataset_format: str, samples: Sequence[StoredSample], dtype: str) -> list[Path]:
    """Write samples into a new folder in a trainer's own format; give the files of states, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    return list(WRITERS[dataset_format](folder, samples, dtype))


def unrecorded(contract: Contract, engines: Mapping[str, str], **drafter: Any) -> Contract:
    """Give the contract for a drafter of one's own: no recorded drafts, engines promised, drafter fields changed."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    document |= {"name": f"{contract.name}-trained-here", "summary": "A drafter that a test trains."}
    document["drafter"] |= drafter
    document["serving"] = {"engines": dict(engines), "context_length": contract.drafter.max_position}
    return Contract.model_validate_json(json.dumps(document))


def move_planes(contract: Contract, boundaries: tuple[int, ...]) -> Contract:
    """Give the contract with the drafter's planes moved to other boundaries, without their norm ranges."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    moved = dict(zip(document["drafter"]["input"], boundaries, strict=True))
    for plane in document["planes"]:
        if plane["name"] in moved:
            plane["boundary"] = moved[plane["name"]]
            plane.pop("norm", None)
    return Contract.model_validate_json(json.dumps(document))


def judge(contract: Contract, stage: str, path: Path, label: str) -> list[Finding]:
    """Give every finding of a stage, held against the whole embedded target."""
    options = Options(target=str(embedded_target()), scan="full")
    evidence = gather_evidence(contract, Subject(stage, str(path), label), options)
    return [finding for item in clauses_of(stage) for finding in judge_clause(item, contract, evidence)]


def violated(findings: Iterable[Finding], level: Level = Level.MUST) -> set[str]:
    """Name the clauses of a level that failed."""
    return {item.clause for item in findings if item.verdict is Verdict.FAILED and item.level is level}


def unchecked(findings: Iterable[Finding]) -> set[str]:
    """Name the clauses that could not be checked."""
    return {item.clause for item in findings if item.verdict is Verdict.ERRORED}
