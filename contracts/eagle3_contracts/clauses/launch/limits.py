"""The context: how long the served one is, and how far the drafter's positions reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagle3_contracts.clauses.launch.asking import Answer, ask, find_drafting_obstacle, where_of
from eagle3_contracts.clauses.launch.overriding import judge_overrides, read_overrides
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

_FLAGS = {"sglang": "--context-length", "vllm": "--max-model-len"}
_OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_SCALES = {"k": 1000, "K": 1 << 10, "m": 10**6, "M": 1 << 20}


def check_context(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if the context is longer than the drafter's positions, or shorter than what the contract promises.

    So it does for a flag that turns positions otherwise than the models were trained with.
    """
    turned = judge_overrides(clause, contract, evidence, positions=True)
    if turned:
        return turned
    obstacle = find_drafting_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    flag = _FLAGS[evidence.engine]
    answer = ask(evidence, flag)
    length, source, obstacle = _served_length(evidence, answer, flag)
    if obstacle is not None or length is None:
        return [(obstacle or _unsaid(flag)).finding(clause, evidence.subject)]
    reach, whose = _reach(contract, evidence)
    promised = contract.serving.context_length if contract.serving is not None else None
    observed = f"contexts of {length:,} tokens ({source}), positions of the drafter up to {reach:,} ({whose})"
    hint, bound = "", reach
    if length > reach:
        observed += f": {_consequence(evidence)}"
        hint = f"serve {flag} {reach}, or train the drafter further"
    elif promised is not None and length < promised:
        observed += f", where the contract promises {promised:,}"
        bound = promised
        hint = f"serve {flag} {promised}, or promise less (serving.context_length)"
    return [
        clause.find(
            Verdict.FAILED if hint else Verdict.PASSED,
            evidence.subject,
            observed=observed,
            where=where_of(evidence, answer.argument, flag="" if answer.argument else flag),
            measure=float(length),
            bound=float(bound),
            hint=hint,
        )
    ]


def _unsaid(flag: str) -> Obstacle:
    told = "the command does not say how long contexts may be, and the target's config is not here to say it"
    return Obstacle(told, f"give {flag}", skips=True)


def _served_length(evidence: LaunchEvidence, answer: Answer, flag: str) -> tuple[int | None, str, Obstacle | None]:
    """Give the served length and what says it: the flag, else the target's config."""
    if answer.obstacle is not None:
        return None, "", answer.obstacle
    if answer.argument is not None and answer.text not in {"auto", "-1"}:
        number = _count(answer.text or "")
        if number is None:
            told = f"{flag} is {str(answer.text)[:40]!r}, no number"
            return None, "", Obstacle(told, "write a number", where_of(evidence, answer.argument))
        return number, flag, None
    config = evidence.target.config if evidence.target is not None else None
    overridden = _positions(read_overrides(evidence))
    return (_positions(config), "the target's config", None) if overridden is None else (overridden, "a flag", None)


def _count(text: str) -> int | None:
    """Read a number as the engines do: vLLM takes 8k and 8K too."""
    scale = _SCALES.get(text[-1:], 1)
    digits = text[:-1] if scale > 1 else text
    return int(digits) * scale if digits.isdecimal() else None


def _positions(config: Mapping[str, Any] | None) -> int | None:
    tables = [config, *(config.get(name) for name in ("text_config", "transformer_layer_config"))] if config else []
    found = [table.get("max_position_embeddings") for table in tables if isinstance(table, Mapping)]
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def _reach(contract: Contract, evidence: LaunchEvidence) -> tuple[int, str]:
    """Give the drafter's positions: the contract's, or fewer if its own config says so."""
    stored = _positions(evidence.draft.config if evidence.draft is not None else None)
    known = contract.drafter.max_position
    return (stored, "its config.json") if stored is not None and stored < known else (known, "drafter.max_position")


def _consequence(evidence: LaunchEvidence) -> str:
    if evidence.engine == "vllm":
        return "vLLM stretches the drafter's rotary cache to the target's length (0.33), or reads beyond it"
    if evidence.environment.get(_OVERRIDE, "").lower() in {"1", "true", "yes"}:
        return f"{_OVERRIDE} is set, so that the drafter's positions are stretched without a word"
    return f"the server stops, or stretches the drafter's positions if {_OVERRIDE} is set where it runs"
