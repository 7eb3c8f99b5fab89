"""A sound live server raises nothing, and what it does not give passes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.faults.injecting.servers import StandIn, serve, serve_fault
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.transport import Limits

SHORT = Limits(connect=2, read=1.0, total=2.0, size=8 << 20)

Examine = Callable[..., list[Finding]]


@pytest.fixture
def examine(contract: Contract) -> Examine:
    """Give every finding on the server at a URL."""

    def run(named: str, *, limits: Limits | None = None, target: bool = True) -> list[Finding]:
        options = Options(target=str(embedded_target()) if target else None)
        evidence = gather(contract, Subject("server", named, "stand-in"), options, limits)
        return [finding for clause in clauses_of("server") for finding in judge_clause(clause, contract, evidence)]

    return run


def of(findings: Iterable[Finding], *verdicts: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict in verdicts}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


@pytest.mark.parametrize("role", ["eagle3", "capture", "plain"])
def test_a_sound_server_raises_nothing(role: str, examine: Examine) -> None:
    stand_in = StandIn()
    stand_in.role = role
    with serve(stand_in) as url:
        findings = examine(f"{role}={url}")
    assert told(findings) == ""
    assert of(findings, Verdict.PASSED) >= {"server.reachable", "server.target", "server.rows", "server.logprobs"}


def test_a_server_whose_states_are_switched_off_passes_none_of_their_clauses(examine: Examine) -> None:
    with serve_fault("server-states-forbidden") as url:
        findings = examine(url)
    assert told(findings) == ""
    skipped = of(findings, Verdict.SKIPPED)
    assert skipped >= {"server.hidden-states", "server.rows", "server.boundary", "server.order", "server.token-shift"}
    assert all(item.hint for item in findings if item.clause in {"server.boundary", "server.rows"})


def test_log_probabilities_that_are_all_blank_are_unchecked(examine: Examine) -> None:
    with serve_fault("server-logprobs-null") as url:
        findings = examine(url)
    assert of(findings, Verdict.FAILED) == set()
    assert of(findings, Verdict.ERRORED) == {"server.logprobs"}


def test_an_address_where_nothing_listens_fails_once_and_passes_nothing(examine: Examine) -> None:
    with serve(StandIn()) as url:
        pass
    findings = examine(url, limits=SHORT)
    assert of(findings, Verdict.FAILED) == {"server.reachable"}
    assert of(findings, Verdict.PASSED, Verdict.SKIPPED) == set()
