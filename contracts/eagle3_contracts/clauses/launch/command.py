"""The command as a whole: whether it can be read, which engine it starts, and whether that knows its flags."""

from __future__ import annotations

from collections.abc import Iterator

from eagle3_contracts.clauses.launch.asking import (
    Served,
    add_unread,
    find_obstacle,
    say_releases,
    served_by,
    where_of,
)
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Argument, LaunchEvidence
from eagle3_contracts.findings import Finding, Level, Verdict, Where
from eagle3_contracts.launchers import find_flag, releases_of, suggest_flag
from eagle3_contracts.registry import Clause

_SHOWN = 12
_REPEATABLE = frozenset({"--speculative-config", "--lora-paths", "--allowed-origins"})


def check_readable(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail for what is not one readable command that starts a server: each reason once."""
    del contract
    if evidence.problems:
        return [
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=f"{problem.kind}: {problem.reason}",
                where=problem.where,
                measure=float(len(evidence.problems)),
                bound=0.0,
                hint=problem.remedy,
            )
            for problem in evidence.problems
        ]
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    told = "".join(f"; {note}" for note in evidence.notes)
    observed = f"{evidence.engine} is started with {say_count(len(evidence.arguments), 'argument')}{told}"
    return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, where=where_of(evidence))]


def check_engine(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if the contract names engines, and not this one; skipped if it names none."""
    obstacle = find_obstacle(evidence)
    engines = contract.serving.engines if contract.serving is not None else {}
    if obstacle is None and not engines:
        obstacle = Obstacle("the contract promises no engine (serving.engines)", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    listed = ", ".join(f"{name} {versions}" for name, versions in engines.items())
    known = evidence.engine in engines
    return [
        clause.find(
            Verdict.PASSED if known else Verdict.FAILED,
            evidence.subject,
            observed=f"the command starts {evidence.engine}",
            expected=f"one of {listed}",
            where=where_of(evidence),
            measure=float(not known),
            bound=0.0,
            hint=""
            if known
            else f"serve with what the contract promises, or see what {evidence.engine} needs: `eagle3-contracts "
            f"explain {contract.reference}`",
        )
    ]


def check_flags(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail for flags that a served release does not define, that do nothing, and for words that belong to no flag.

    Violates a should only: a retired flag, and a setting that is given several times with different values.
    """
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    served = served_by(contract, evidence)
    found = [*_unknown(clause, evidence, served), *_stray_words(clause, evidence), *_repeated(clause, evidence)]
    if not found:
        observed = f"all of {say_count(len(evidence.arguments), 'argument')} are flags of {served}"
        unseen = [item for item in evidence.arguments if not item.written]
        if unseen:
            opened = ", ".join(name for item in unseen for name in item.open)
            reason = f"{opened} may hold any flags, and only the run decides which"
            return [
                Obstacle(reason, "write these arguments out", where_of(evidence, unseen[0])).finding(
                    clause, evidence.subject
                )
            ]
        found = [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    return add_unread(clause, evidence, served, found)


def _unknown(clause: Clause, evidence: LaunchEvidence, served: Served) -> Iterator[Finding]:
    """Judge each flag in every release: defined, retired or gone; beyond a few unknown ones no more are looked for."""
    read, missing = releases_of(evidence.engine), 0
    for argument in {item.written: item for item in reversed(evidence.arguments) if item.written}.values():
        known = find_flag(evidence.engine, argument.written)
        without = tuple(r for r in served.releases if not any(flag.defined_in(r, read) for flag in known))
        if not known or (without and (served.promised or without == served.releases)):
            missing += 1
            yield _missing(clause, evidence, argument, without if known else ())
            if missing == _SHOWN:
                return
            continue
        states = {r: flag.state for flag in known for r in served.releases if flag.defined_in(r, read) and flag.state}
        for state in sorted(set(states.values())):
            yield _outdated(clause, evidence, argument, state, tuple(r for r in states if states[r] == state))


def _missing(clause: Clause, evidence: LaunchEvidence, argument: Argument, releases: tuple[str, ...]) -> Finding:
    meant = suggest_flag(evidence.engine, argument.written)
    if releases:
        observed = f"{argument.written} is no flag of {evidence.engine} {say_releases(releases)}"
        hint = "the server refuses it there: leave it out, or serve other versions"
    else:
        observed = f"{argument.written} is no flag of any {evidence.engine} that was read"
        hint = f"did you mean {meant}?" if meant else "the server refuses it: leave it out, or check its spelling"
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=observed,
        where=where_of(evidence, argument),
        measure=1.0,
        bound=0.0,
        hint=hint,
    )


def _outdated(
    clause: Clause, evidence: LaunchEvidence, argument: Argument, state: str, releases: tuple[str, ...]
) -> Finding:
    told = "does nothing, or stops the server with a message," if state == "gone" else "works with a warning"
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"{argument.written} {told} in {evidence.engine} {say_releases(releases)}",
        where=where_of(evidence, argument),
        measure=1.0,
        bound=0.0,
        hint="the server's own message names what takes its place",
        level=Level.MUST if state == "gone" else Level.SHOULD,
    )


def _stray_words(clause: Clause, evidence: LaunchEvidence) -> Iterator[Finding]:
    if not evidence.strays:
        return
    first = evidence.strays[0]
    yield clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"{say_count(len(evidence.strays), 'word')} without a flag: "
        + ", ".join(repr(word.text[:40]) for word in evidence.strays[:4]),
        where=Where(file=evidence.source or None, line=first.line),
        measure=float(len(evidence.strays)),
        bound=0.0,
        hint="a value that stands alone has lost its flag, or a switch was given a value; the server refuses it",
    )


def _repeated(clause: Clause, evidence: LaunchEvidence) -> Iterator[Finding]:
    """Tell of a setting that is given several times, differently: the last one wins, and nobody is told."""
    by_name: dict[str, list[Argument]] = {}
    for item in evidence.arguments:
        if item.name and not item.key and item.name not in _REPEATABLE:
            by_name.setdefault(item.name, []).append(item)
    for name, items in by_name.items():
        values = [" ".join(word.text for word in item.values) for item in items]
        if len(set(values)) > 1:
            yield clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=f"{name} is given {len(items)} times, as {', '.join(values)}; {values[-1]} wins",
                where=where_of(evidence, items[-1]),
                measure=float(len(items)),
                bound=1.0,
                hint="keep the one that is meant",
                level=Level.SHOULD,
            )
