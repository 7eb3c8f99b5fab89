"""How findings of a checkpoint are stated: a list of defects, or per engine what its versions make of the file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from packaging.version import Version

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.consumers import ENGINES, Reading, Stored, read_range
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import NotVerified
from eagle3_contracts.dialects.table import find_tool
from eagle3_contracts.dialects.wanted import unread_part
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

NOWHERE = Where()
NO_ENGINE = Obstacle("the contract promises no engine (serving.engines)", skips=True)


class Defect(NamedTuple):
    """What is wrong, where, and what mends it; ``measure`` against ``bound`` where a number was compared."""

    observed: str
    where: Where
    hint: str
    measure: float = 1.0
    bound: float = 0.0


Judgement = Callable[[Reading], str]
"""Say what an engine does otherwise than declared; empty if nothing."""


def state(
    clause: Clause,
    evidence: CheckpointEvidence,
    defects: Sequence[Defect],
    *,
    sound: str,
    expected: str,
    where: Where = NOWHERE,
) -> list[Finding]:
    """Fail once per defect, or pass and say what is sound, and ``where``."""
    if not defects:
        return [clause.find(Verdict.PASSED, evidence.subject, observed=sound, expected=expected, where=where)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=defect.observed,
            expected=expected,
            where=defect.where,
            measure=defect.measure,
            bound=defect.bound,
            hint=defect.hint,
        )
        for defect in defects
    ]


def stored_of(contract: Contract, evidence: CheckpointEvidence) -> Stored:
    """Give what consumers look at."""
    return Stored(
        config=evidence.config,
        shapes={name: record.shape for name, record in evidence.weights.items()},
        architecture=contract.target.architecture,
        layers=contract.target.num_hidden_layers,
        plane_width=contract.target.hidden_size,
    )


def judge_engines(
    clause: Clause,
    contract: Contract,
    evidence: CheckpointEvidence,
    judge: Judgement,
    *,
    expected: str,
    sound: str,
    hint: str,
    stopped: bool = False,
    unverified: Judgement | None = None,
) -> list[Finding]:
    """Judge by every engine that the contract promises: one finding for each, its versions told apart.

    ``unverified``: says what of a reading is not known; where nothing fails, that is an error and no pass.
    An engine that does not get to loading fails ``checkpoint.engine-start`` alone (``stopped``); the other clauses are
    skipped for it, unless another of its versions does load.
    """
    engines = contract.serving.engines if contract.serving is not None else {}
    if not engines:
        return [NO_ENGINE.finding(clause, evidence.subject)]
    found = []
    for engine, versions in engines.items():
        where = Where(file="config.json", flag=f"serving.engines.{engine}")
        obstacle = _find_unread(engine, versions)
        readings = () if obstacle else read_range(engine, versions, stored_of(contract, evidence))
        obstacle = obstacle or _find_stopped(engine, versions, readings, stopped=stopped)
        if obstacle is not None:
            found.append(dataclasses.replace(obstacle, where=where).finding(clause, evidence.subject))
            continue
        told = _tell(readings, judge, stopped=stopped)
        doubts = _tell(readings, unverified, stopped=stopped) if unverified is not None and not told else []
        if doubts:
            remedy = f"narrow serving.engines.{engine} to what was read, or leave it out"
            found.append(Obstacle("; ".join(doubts), remedy, where).finding(clause, evidence.subject))
            continue
        defects = [Defect("; ".join(told), where, hint, float(len(told)))] if told else []
        told_sound = f"{_say_versions(readings)}: {sound}"
        found += state(clause, evidence, defects, sound=told_sound, expected=expected, where=where)
    return found


def _tell(readings: Sequence[Reading | NotVerified], judge: Judgement, *, stopped: bool) -> list[str]:
    """Tell each defect once, with all versions and runners that have it."""
    by_defect: dict[str, list[str]] = {}
    for reading in readings:
        if isinstance(reading, Reading) and (stopped or not reading.stops) and (told := judge(reading)):
            by_defect.setdefault(told, []).append(reading.span)
    return [f"{' and '.join(spans)}: {told}" for told, spans in by_defect.items()]


def _say_versions(readings: Sequence[Reading | NotVerified]) -> str:
    """Name an engine with all versions and runners that were judged."""
    judged = [reading for reading in readings if isinstance(reading, Reading)]
    versions = sorted({version for reading in judged for version in reading.versions}, key=Version)
    runners = [runner for runner in dict.fromkeys(reading.runner for reading in judged) if runner]
    span = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
    return f"{judged[0].engine} {span}" + (f" ({', '.join(runners)})" if runners else "")


def _find_unread(engine: str, versions: str) -> Obstacle | None:
    if engine not in ENGINES:
        reason = f"how {engine} reads a checkpoint was not read; there are {', '.join(ENGINES)}"
        return Obstacle(reason, f"leave serving.engines.{engine} out, or take what is found for the others")
    tool = find_tool(engine)
    beyond = unread_part(tool, versions)
    if not tool.releases(versions) or beyond:
        reason = f"not verified for {engine} {beyond or versions}, last read {tool.last_read}"
        return Obstacle(reason, f"narrow serving.engines.{engine} to versions that were read")
    return None


def _find_stopped(
    engine: str, versions: str, readings: Sequence[Reading | NotVerified], *, stopped: bool
) -> Obstacle | None:
    unverified = [reading for reading in readings if isinstance(reading, NotVerified)]
    if unverified:
        return Obstacle(str(unverified[0]), f"narrow serving.engines.{engine} to versions that were read")
    if not stopped and all(isinstance(reading, Reading) and reading.stops for reading in readings):
        reason = f"{engine} {versions} does not start with this checkpoint"
        return Obstacle(reason, "see checkpoint.engine-start", skips=True)
    return None


def find_place(evidence: CheckpointEvidence, key: str) -> Where:
    """Name the place of a key of the decoder layer's config."""
    nested = layer_table(evidence.config) is not evidence.config
    return Where(file="config.json", flag=f"transformer_layer_config.{key}" if nested else key)
