"""Engines of a document: whether one id list serves all versions, and whether they can run the drafter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from eagle3_contracts.clauses.contract.features import FEATURES, NEVER, Feature
from eagle3_contracts.clauses.contract.planes import SUBJECT
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import find_tool
from eagle3_contracts.dialects.explaining import explain_tool
from eagle3_contracts.dialects.table import TOOLS
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

Row = dict[str, Any]


def check_engine_ids(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail for each engine in which no list, or no single list, taps the declared boundaries in all its versions."""

    def judge(engine: str, versions: str) -> Finding:
        rows = [row for tool in TOOLS if tool.name == engine for row in explain_tool(contract, tool)]
        served = [row for row in rows if row["purpose"] == "serve" and row["served"]]
        where = Where(flag=f"serving.engines.{engine}")
        unread = [row for row in served if row["reason"].startswith("not verified")]
        if not served or unread:
            reason = unread[0]["reason"] if unread else f"not verified: no version in {versions} was read"
            hint = f"narrow serving.engines.{engine} to versions that were read: eagle3-contracts explain NAME"
            return clause.find(Verdict.ERRORED, SUBJECT, observed=f"{engine}: {reason}", where=where, hint=hint)
        return _judge_rows(clause, engine, served, where)

    return _judge_engines(clause, contract, judge)


def _judge_rows(clause: Clause, engine: str, rows: Sequence[Row], where: Where) -> Finding:
    """Judge an engine by its dialects, one row for each range of versions."""
    without = [row for row in rows if row["ids"] is None and not row["default"]]
    if without:
        told = _tell_reasons(without)
        hint = "serve versions that can tap these boundaries, or choose boundaries that they can tap"
        return clause.find(Verdict.FAILED, SUBJECT, observed=f"{engine} {told}", where=where, hint=hint)
    moving = [row for row in rows if row["ids"] is not None and row["stable"] is None]
    if moving:
        told = "; ".join(f"{row['versions']}: {row['ids']}" for row in rows)
        hint = "narrow the range to versions in which one list holds, since a checkpoint carries one list only"
        return clause.find(
            Verdict.FAILED, SUBJECT, observed=f"{engine} needs another list by version: {told}", where=where, hint=hint
        )
    ignored = [row for row in rows if "--disable-cuda-graph" in row["reason"]]
    if ignored:
        told = _tell_reasons(ignored)
        hint = "serve later versions, or boundaries that are the default"
        return clause.find(Verdict.FAILED, SUBJECT, observed=f"{engine} {told}", where=where, hint=hint)
    ids = rows[0]["ids"]
    observed = f"{engine}: ids {ids}" if ids is not None else f"{engine}: no ids needed"
    return clause.find(Verdict.PASSED, SUBJECT, observed=observed, where=where)


def _tell_reasons(rows: Sequence[Row]) -> str:
    """Tell each reason once, with the ranges of versions that it holds for."""
    versions: dict[str, list[str]] = {}
    for row in rows:
        versions.setdefault(row["reason"], []).append(row["versions"])
    return "; ".join(f"{' and '.join(ranges)}: {reason}" for reason, ranges in versions.items())


def check_engine_features(clause: Clause, contract: Contract, _evidence: Contract) -> list[Finding]:
    """Fail for each engine of which a served version ignores or cannot run a part of the drafter."""

    def judge(engine: str, versions: str) -> Finding:
        where = Where(flag=f"serving.engines.{engine}")
        unread = _tell_unread(engine, versions)
        if unread:
            hint = f"narrow serving.engines.{engine} to versions that were read"
            observed = f"{engine}: not verified, since {unread}"
            return clause.find(Verdict.ERRORED, SUBJECT, observed=observed, where=where, hint=hint)
        releases = find_tool(engine).releases(versions)
        told = [line for feature in FEATURES[engine] if (line := _tell_loss(feature, contract, releases))]
        if told:
            return clause.find(
                Verdict.FAILED,
                SUBJECT,
                observed=f"{engine}: {'; '.join(told)}",
                where=where,
                hint="serve versions that honour it, or train the drafter without it",
            )
        observed = f"{engine}: {len(releases)} versions read in {versions} run every part of the drafter"
        return clause.find(Verdict.PASSED, SUBJECT, observed=observed, where=where)

    return _judge_engines(clause, contract, judge)


def _tell_unread(engine: str, versions: str) -> str:
    """Say what of an engine was not read; empty if every version in the range was, or lies between two that were."""
    if engine not in FEATURES:
        return "none of its drafter's code was read"
    tool = find_tool(engine)
    last = Version(tool.last_read)
    if not tool.releases(versions):
        return f"no version in {versions} was read"
    later = f"{last.major}.{last.minor}.{last.micro + 1}"
    return f"{versions} reaches beyond {last}, the last that was read" if later in SpecifierSet(versions) else ""


def _tell_loss(feature: Feature, contract: Contract, releases: Sequence[str]) -> str:
    """Say which versions do not honour a part that the contract asks for; empty if all do."""
    if not feature.asked(contract):
        return ""
    honoured = SpecifierSet(feature.honoured)
    lost = [
        version for version in releases if feature.honoured == NEVER or not honoured.contains(version, prereleases=True)
    ]
    if not lost:
        return ""
    span = lost[0] if len(lost) == 1 else f"{lost[0]} to {lost[-1]}"
    return f"{feature.name}: not in {span}, where {feature.otherwise}"


def _judge_engines(clause: Clause, contract: Contract, judge: Callable[[str, str], Finding]) -> list[Finding]:
    """Judge every engine of the contract; skip a contract that serves none."""
    if contract.serving is None or not contract.serving.engines:
        return [clause.find(Verdict.SKIPPED, SUBJECT, observed="the contract promises no engine (serving.engines)")]
    return [judge(engine, versions) for engine, versions in contract.serving.engines.items()]
