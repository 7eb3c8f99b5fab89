"""Servers that return hidden states: what cuts a prompt's rows short."""

from __future__ import annotations

from eagle3_contracts.clauses.launch.asking import ask, find_obstacle, returns_states, where_of
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Argument, LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause


def check_hidden_states(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if states are returned while the radix cache or chunked prefill is on; skipped if none are returned."""
    del contract
    returning = _find_returning(evidence)
    if isinstance(returning, Obstacle):
        return [returning.finding(clause, evidence.subject)]
    radix, chunks = ask(evidence, "--disable-radix-cache"), ask(evidence, "--chunked-prefill-size")
    obstacle = next((item.obstacle for item in (radix, chunks) if item.obstacle is not None), None)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    lacking = [] if radix.given else ["--disable-radix-cache"]
    lacking += [] if chunks.number is not None and chunks.number <= 0 else ["--chunked-prefill-size -1"]
    reasons = {
        "--disable-radix-cache": "tokens whose prefix is cached have no rows",
        "--chunked-prefill-size -1": "of a prompt longer than a chunk the last chunk's rows alone are kept",
    }
    told = "; ".join(reasons[flag] for flag in lacking)
    return [
        clause.find(
            Verdict.FAILED if lacking else Verdict.PASSED,
            evidence.subject,
            observed=f"{returning.written} is given"
            + (f", and {told}" if told else ", prompts run whole and uncached"),
            where=where_of(evidence, returning),
            measure=float(len(lacking)),
            bound=0.0,
            hint=f"add {' '.join(lacking)}" if lacking else "",
        )
    ]


def _find_returning(evidence: LaunchEvidence) -> Argument | Obstacle:
    """Give the flag by which states are returned, or say why there is none to judge."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    if evidence.engine == "vllm":
        return Obstacle("how vLLM returns hidden states was not looked up", skips=True)
    none = Obstacle("the server returns no hidden states", skips=True)
    return returns_states(evidence) or ask(evidence, "--enable-return-hidden-states").obstacle or none
