"""Rotary positions and their range, as the config states them and as each engine reads them."""

from __future__ import annotations

from eagle3_contracts.clauses.checkpoint.files import find_config_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, find_place, judge_engines, state
from eagle3_contracts.consumers import Reading, RopeReading, read_rope, rope_of_contract
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.consumers.ropes import slowest_frequency
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause


def check_rope(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a config, or an engine's reading of it, that rotates otherwise than the drafter was trained with."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared, table = rope_of_contract(contract), layer_table(evidence.config)
    found = read_rope(table, "v5", declared.layout)
    wrong = found.differs(declared)
    hint = (
        "state what the drafter was trained with, which need not be what its config said then (SpecForge 0.1 trained "
        "with base 10000): rope_theta and rope_scaling, and rope_parameters with the same for transformers 5"
    )
    defects = [
        Defect(_tell(found, declared, wrong, contract), _place(evidence), hint, *_measure(found, declared, contract))
    ]
    findings = state(clause, evidence, defects if wrong else [], sound=str(found), expected=str(declared))
    if wrong:
        return findings

    def judge(reading: Reading) -> str:
        odd = reading.rope is not None and reading.rope.differs(declared)
        return f"rotates with {reading.rope}" if odd else ""

    engines = judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected=str(declared),
        sound=str(declared),
        hint="write the rope in both layouts (rope_theta and rope_scaling beside rope_parameters), and, for an "
        "interleaved drafter, the flag that the engine reads (SGLang: rope_is_neox_style = false), if it has one",
    )
    return findings + [item for item in engines if item.verdict is not Verdict.SKIPPED]


def _tell(found: RopeReading, declared: RopeReading, wrong: tuple[str, ...], contract: Contract) -> str:
    channels = _channels(contract)
    slow = slowest_frequency(found, channels), slowest_frequency(declared, channels)
    pair = f"; slowest pair {slow[0]:.3g} against {slow[1]:.3g} per position" if "theta" in wrong else ""
    return f"config.json says {found}: {', '.join(wrong)} differ{'s' if len(wrong) == 1 else ''}{pair}"


def _measure(found: RopeReading, declared: RopeReading, contract: Contract) -> tuple[float, float]:
    channels = _channels(contract)
    return slowest_frequency(found, channels), slowest_frequency(declared, channels)


def _channels(contract: Contract) -> int:
    attention = contract.drafter.attention
    return attention.head_dim if attention.kind == "gqa" else attention.qk_rope_head_dim


def _place(evidence: CheckpointEvidence) -> Where:
    table = layer_table(evidence.config)
    key = next((name for name in ("rope_scaling", "rope_parameters") if table.get(name)), "rope_theta")
    return find_place(evidence, key)


def check_positions(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for another max_position_embeddings than declared, and for one below ``serving.context_length``."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    where = find_place(evidence, "max_position_embeddings")
    found, declared = layer_table(evidence.config).get("max_position_embeddings"), contract.drafter.max_position
    if type(found) is not int:
        reason = "config.json states no max_position_embeddings, and engines fall back to numbers of their own"
        return [
            clause.find(Verdict.ERRORED, evidence.subject, observed=reason, where=where, hint=f"set it to {declared}")
        ]
    served = contract.serving.context_length if contract.serving is not None else None
    defects = []
    if found != declared:
        hint = f"set it to {declared}, or declare drafter.max_position"
        defects.append(Defect(f"max_position_embeddings is {found:,}", where, hint, float(found), float(declared)))
    if served is not None and found < served:
        hint = f"limit the drafter's context, or train with positions up to {served:,}"
        told = f"max_position_embeddings {found:,} ends before the served context of {served:,}"
        defects.append(Defect(told, where, hint, float(found), float(served)))
    expected = f"{declared:,}" + (f", at least {served:,}" if served is not None else "")
    return state(clause, evidence, defects, sound=f"max_position_embeddings {found:,}", expected=expected)
