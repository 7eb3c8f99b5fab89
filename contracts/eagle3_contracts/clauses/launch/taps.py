"""The taps: what the ids in the draft's config come to in every served version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eagle3_contracts.clauses.launch.asking import (
    Served,
    add_unread,
    find_drafting_obstacle,
    say_releases,
    served_by,
    where_of,
)
from eagle3_contracts.clauses.obstacles import Obstacle, from_problem
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import NotVerified, find_dialect
from eagle3_contracts.dialects.config_keys import read_ids
from eagle3_contracts.dialects.explaining import explain
from eagle3_contracts.dialects.wanted import wanted_of
from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_RUNNERS = {"sglang": ("",), "vllm": ("v1", "v2")}


def check_taps(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail for every run of versions that taps something else; skipped where the draft's config is not here."""
    config = _find_config(contract, evidence)
    if isinstance(config, Obstacle):
        return [config.finding(clause, evidence.subject)]
    served = served_by(contract, evidence)
    groups: dict[tuple[str, bool | None], list[str]] = {}
    for release in served.releases:
        for runner in _RUNNERS[evidence.engine]:
            said = _judge_release(contract, evidence.engine, release, runner, config)
            groups.setdefault(said, []).append(release)
    findings = _state(clause, contract, evidence, served, groups)
    return add_unread(clause, evidence, served, findings)


def _find_config(contract: Contract, evidence: LaunchEvidence) -> Mapping[str, Any] | Obstacle:
    """Give the draft's config, or say why there is none to judge."""
    obstacle, draft = find_drafting_obstacle(evidence), evidence.draft
    if obstacle is not None:
        return obstacle
    if draft is not None and draft.problem is not None:
        return from_problem(draft.problem)
    if draft is not None and draft.argument.open:
        told = f"the draft model is {', '.join(draft.argument.open)}, which only the run decides"
        return Obstacle(told, "write its folder out", where_of(evidence, draft.argument))
    if draft is not None and draft.config is not None:
        return draft.config
    named = f"{draft.text[:80]} is no folder here" if draft is not None else "no draft model is named"
    told = f"{named}, so that its config.json was not read; it must give {_needs(contract, evidence)}"
    return Obstacle(told, "name a folder that is here, or check it as a checkpoint", skips=True)


def _judge_release(
    contract: Contract, engine: str, release: str, runner: str, config: Mapping[str, Any]
) -> tuple[str, bool | None]:
    """Say what one release taps, and whether that is what the contract wants; None: not verified."""
    architecture = contract.target.architecture
    reading = read_ids(engine, release, config, runner=runner)
    dialect = find_dialect(engine, release, architecture)
    if isinstance(reading, NotVerified):
        return str(reading), None
    if isinstance(dialect, NotVerified):
        return str(dialect), None
    if reading.wrong:
        return f"{reading.wrong}, and the server stops", False
    ids = reading.ids
    resolution = dialect.resolve(ids, contract.target.num_hidden_layers)
    source = f"ids {list(ids)} of {reading.key}" if ids is not None else "no ids where it looks, so its default"
    passed_over = "".join(f"; {key} is not read" for key, _ in reading.ignored)
    source += f" (model runner {runner})" if runner else ""
    tapped = ", ".join(str(tap) for tap in resolution.taps) or "nothing"
    if not resolution.runs:
        return f"{source}: {resolution.outcome}, {resolution.note}{passed_over}", False
    fits = resolution.taps == wanted_of(contract, dialect).taps
    return f"{source}: taps {tapped}{passed_over}", fits


def _state(
    clause: Clause,
    contract: Contract,
    evidence: LaunchEvidence,
    served: Served,
    groups: Mapping[tuple[str, bool | None], Iterable[str]],
) -> list[Finding]:
    """Give one finding for each thing that versions do; without a promised range, differing versions are open."""
    verdicts = {fits for _, fits in groups}
    where = Where(file="config.json", flag="eagle_aux_hidden_state_layer_ids")
    wanted = ", ".join(str(plane.boundary) for plane in contract.input_planes())
    if not served.promised and verdicts == {True, False}:
        told = "; ".join(f"{say_releases(tuple(r))}: {said}" for (said, _), r in groups.items())
        hint = f"state the served versions: serving.engines.{evidence.engine}"
        return [Obstacle(f"it depends on the version: {told}", hint, where).finding(clause, evidence.subject)]
    findings = []
    for (said, fits), releases in groups.items():
        told = f"{evidence.engine} {say_releases(tuple(dict.fromkeys(releases)))}: {said}"
        if fits is None:
            findings.append(Obstacle(told, "serve versions that were read", where).finding(clause, evidence.subject))
            continue
        findings.append(
            clause.find(
                Verdict.PASSED if fits else Verdict.FAILED,
                evidence.subject,
                observed=told,
                expected=f"boundaries {wanted}, in this order",
                where=where,
                measure=float(not fits),
                bound=0.0,
                hint="" if fits else f"write into the draft's config.json: {_needs(contract, evidence)}",
            )
        )
    return findings


def _needs(contract: Contract, evidence: LaunchEvidence) -> str:
    """Say what the draft's config must hold for the engine, by version."""
    rows = [
        row for row in explain(contract)["dialects"] if row["tool"] == evidence.engine and row["purpose"] == "serve"
    ]
    rows = [row for row in rows if row["served"]] or rows
    said = []
    for row in rows:
        if row["ids"] is not None:
            said.append(f"ids {row['ids']} for {evidence.engine} {row['versions']}")
        elif row["default"]:
            said.append(f"no ids for {evidence.engine} {row['versions']}")
        else:
            said.append(f"(for {evidence.engine} {row['versions'] or 'any version'} there are none: {row['reason']})")
    return "; ".join(said) or f"what no {evidence.engine} that was read can take"
